// The input of a search, with its icon.
import { t } from "../words/words";
import { Icon } from "./Icon";

interface FindProps {
  value: string;
  change: (text: string) => void;
  placeholder?: string;
  /** What is searched for, where a screen has two searches. */
  label?: string;
}

export const Find = ({ value, change, placeholder, label }: FindProps) => (
  <div class="find">
    <Icon name="search" />
    <input
      type="search"
      aria-label={label ?? t("search")}
      placeholder={placeholder ?? t("search")}
      value={value}
      onInput={(event) => change(event.currentTarget.value)}
    />
  </div>
);
