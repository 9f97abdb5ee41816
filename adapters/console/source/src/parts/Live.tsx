// Whether changes of others arrive: a dot whose shape tells the state, and its text for those who listen.
import { feedState } from "../api/feed";
import type { Live } from "../grid/live";
import { t } from "../words/words";
import { Icon } from "./Icon";

/** Nothing where no screen follows an entity. */
export function LiveDot() {
  const state = feedState.value;
  if (state === "none") return null;
  const text = t(`live.${state}`);
  return <span class={`live ${state}`} role="img" aria-label={text} title={text} />;
}

interface FreshProps {
  live: Live;
  show: () => void;
}

/** Shows new rows when somebody wants them: rows that one reads do not move by themselves. */
export function Fresh({ live, show }: FreshProps) {
  const { count } = live;
  if (!count && !live.isMoved.value) return null;
  return (
    <div class="fresh">
      <button type="button" onClick={show}>
        <Icon name="refresh-cw" />
        {count ? t("live.new", { count }) : t("live.moved")}
      </button>
    </div>
  );
}
