// A reference to what the reader may not see.
import { t } from "../words/words";
import { Icon } from "./Icon";

/** The end of the id, since ids of the same moment begin alike, and why there is no name. */
export const Unseen = ({ id }: { id: string }) => (
  <span class="locked" title={`${t("reference.unseen")} ${id}`}>
    <Icon name="lock" label={t("reference.unseen")} />
    <code>…{id.slice(-8)}</code>
  </span>
);
