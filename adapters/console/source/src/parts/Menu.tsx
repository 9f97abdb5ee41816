// A button with a popover: the browser puts it above everything and closes it on Escape or a click elsewhere.
import type { ComponentChildren } from "preact";
import { useId, useRef, useState } from "preact/hooks";
import { Icon } from "./Icon";

interface Props {
  label: string;
  icon?: string;
  /** Shown before the label in place of an icon. */
  lead?: ComponentChildren;
  children: (close: () => void) => ComponentChildren;
  class?: string;
  hideText?: boolean;
  hasMarker?: boolean;
}

export function Menu({ label, icon, lead, children, class: more = "", hideText, hasMarker }: Props) {
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const popover = useRef<HTMLDivElement>(null);
  const [isOpen, setOpen] = useState(false);
  const close = () => popover.current?.hidePopover();

  function place(): void {
    const from = button.current?.getBoundingClientRect();
    const box = popover.current;
    if (!from || !box) return;
    const width = Math.min(box.offsetWidth || 240, innerWidth - 16);
    box.style.left = `${Math.max(8, Math.min(from.left, innerWidth - width - 8))}px`;
    const below = innerHeight - from.bottom;
    const isAbove = below < 240 && from.top > below;
    box.style.top = isAbove ? "auto" : `${from.bottom + 4}px`;
    box.style.bottom = isAbove ? `${innerHeight - from.top + 4}px` : "auto";
    box.style.maxHeight = `${Math.max(160, (isAbove ? from.top : below) - 16)}px`;
  }

  return (
    <>
      <button
        ref={button}
        type="button"
        class={`${more} ${hideText ? "square" : ""} ${hasMarker ? "marked" : ""}`}
        popovertarget={id}
        aria-expanded={isOpen}
        aria-label={hideText ? label : undefined}
        title={hideText ? label : undefined}
      >
        {icon && <Icon name={icon} />}
        {lead}
        {!hideText && <span>{label}</span>}
        {!icon && <Icon name="chevron-down" />}
      </button>
      <div
        ref={popover}
        id={id}
        popover="auto"
        class="popover"
        onToggle={(event) => {
          const opened = (event as unknown as ToggleEvent).newState === "open";
          setOpen(opened);
          if (opened)
            requestAnimationFrame(() => {
              place();
              popover.current?.querySelector<HTMLElement>("input, select, button, a")?.focus();
            });
        }}
      >
        {isOpen && children(close)}
      </div>
    </>
  );
}
