// The heading of a screen. After going to a screen the focus is on its heading, for those who listen as well.
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { arrival } from "../session/routes";

export function Title({ children }: { children: ComponentChildren }) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    if (arrival.isNew) heading.current?.focus({ preventScroll: true });
    arrival.isNew = false;
  }, []);
  return (
    <h1 ref={heading} tabIndex={-1}>
      {children}
    </h1>
  );
}
