// The input of a search, with its icon.
import { t } from "../words/words";
import { Icon } from "./Icon";

interface FindProps {
  value: string;
  change: (text: string) => void;
  placeholder?: string;
}

export const Find = ({ value, change, placeholder }: FindProps) => (
  <div class="find">
    <Icon name="search" />
    <input
      type="search"
      aria-label={t("search")}
      placeholder={placeholder ?? t("search")}
      value={value}
      onInput={(event) => change(event.currentTarget.value)}
    />
  </div>
);
