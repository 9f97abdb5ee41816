// The heading of a screen. After going to a screen the focus is on its heading, for those who listen as well.
import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { arrival, href } from "../session/routes";
import { Icon } from "./Icon";

/** Name of the row, the person or the like that the open screen shows; null until it is read, and for lists. */
export const openName = signal<string | null>(null);

interface TitleProps {
  /** What the screen shows, such as a row: the title of the page begins with it. */
  name?: string;
  /** Begins a step of its own on the path of the one before, whose focus would be lost. */
  isStep?: boolean;
  /** Heads a part beside the list that the screen is about. */
  isPart?: boolean;
  /** The heading; without it, the name. */
  children?: ComponentChildren;
}

/** Whether a heading was there before: on opening the page nothing is focused. */
let isLater = false;

export function Title({ name, isStep, isPart, children }: TitleProps) {
  const Heading = isPart ? "h2" : "h1";
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    openName.value = name ?? null;
    return () => {
      openName.value = null;
    };
  }, [name]);
  useEffect(() => {
    if (arrival.isNew || (isStep && isLater)) heading.current?.focus({ preventScroll: true });
    arrival.isNew = false;
    isLater = true;
  }, []);
  return (
    <Heading ref={heading} tabIndex={-1}>
      {children ?? <bdi>{name}</bdi>}
    </Heading>
  );
}

interface HeadProps {
  /** The heading of a list or a form; a thing that has a name of its own has `name` instead. */
  title?: string;
  name?: string;
  /** Stands beside the title: the state of the thing. */
  state?: ComponentChildren;
  children?: ComponentChildren;
}

/** The top of a screen: its heading, and at the other end what one can do. */
export const Head = ({ title, name, state, children }: HeadProps) => (
  <div class="head">
    <Title name={name}>{title}</Title>
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
