// Buttons that rest while something runs or there is nothing to do. The browser takes the focus from a disabled button
// and gives it to nothing: these keep it, and do nothing.
import type { ComponentChildren } from "preact";
import { t } from "../words/words";

interface Props {
  isResting?: boolean;
  class?: string;
  label?: string;
  onClick?: () => void;
  children: ComponentChildren;
}

/** What rests does nothing, neither by a click nor by Enter in a field of its form. */
const press = (isResting: boolean | undefined, onClick?: () => void) => (event: Event) =>
  isResting ? event.preventDefault() : onClick?.();

export const Button = ({ isResting, class: more, label, onClick, children }: Props) => (
  <button
    type="button"
    class={more}
    aria-label={label}
    aria-disabled={isResting || undefined}
    onClick={press(isResting, onClick)}
  >
    {children}
  </button>
);

export const Submit = ({ isResting, class: more = "primary", children }: Props) => (
  <button type="submit" class={more} aria-disabled={isResting || undefined} onClick={press(isResting)}>
    {children}
  </button>
);

interface StoppableProps {
  isBusy: boolean;
  stop: () => void;
  children: ComponentChildren;
}

/** Sends a form whose request takes long, and stops it. */
export const StoppableSubmit = ({ isBusy, stop, children }: StoppableProps) => (
  <div class="row">
    <Submit isResting={isBusy}>{children}</Submit>
    {isBusy && <Button onClick={stop}>{t("cancel")}</Button>}
  </div>
);
