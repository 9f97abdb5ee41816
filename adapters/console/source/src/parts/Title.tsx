// The heading of a screen. After going to a screen the focus is on its heading, for those who listen as well.
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { arrival, href } from "../session/routes";
import { Icon } from "./Icon";

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

interface HeadProps {
  title: ComponentChildren;
  /** Stands beside the title: the state of the thing. */
  state?: ComponentChildren;
  children?: ComponentChildren;
}

/** The top of a screen: its heading, and at the other end what one can do. */
export const Head = ({ title, state, children }: HeadProps) => (
  <div class="head">
    <Title>{title}</Title>
    {state}
    <span class="space" />
    {children}
  </div>
);

/** The way back to the list that a thing is in. */
export const Crumb = ({ to, children }: { to: string; children: ComponentChildren }) => (
  <a class="crumb row" href={href(to)}>
    <Icon name="arrow-left" />
    {children}
  </a>
);
