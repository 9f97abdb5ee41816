// Icons of Lucide, made of data: build.mjs reads the shapes, and the policy of the page forbids markup in scripts.

import shapes from "icons:";
import { h } from "preact";

export function Icon({ name, label, class: more = "" }: { name: string; label?: string; class?: string }) {
  return (
    <svg
      class={`icon ${more}`}
      viewBox="0 0 24 24"
      role={label ? "img" : undefined}
      aria-label={label}
      aria-hidden={label ? undefined : true}
    >
      {(shapes[name] ?? []).map(([tag, attributes]) => h(tag, attributes))}
    </svg>
  );
}
