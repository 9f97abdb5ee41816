// Parts of the screens of webhooks: health, events, accounts, and the secret that is shown only once.
import { call } from "../api/api";
import type { NewWebhook, ServiceAccountItem, WebhookItem } from "../api/types";
import { copy } from "../grid/views";
import { Dialog } from "../parts/Dialog";
import { Icon } from "../parts/Icon";
import { Tags } from "../parts/Table";
import { href } from "../session/routes";
import { may } from "../session/session";
import { ago, exactTime, type Key, t } from "../words/words";
import { eventName } from "./webhookForm";

/** A webhook and the secret that is shown only once; null with a public key. */
export type Shown = Pick<NewWebhook, "id" | "secret" | "publicKey">;

export const accountsOf = async () => {
  if (!may("read:service-accounts")) return [];
  const query = { pageSize: "100", sortBy: "name", sortDirection: "asc" };
  return (await call<{ items: ServiceAccountItem[] }>("GET", "/api/service-accounts", { query })).data.items;
};

/** How the webhook fares: a sign and a word, not only a colour. */
export function HealthBadge({ webhook: { isActive, health } }: { webhook: WebhookItem }) {
  if (health.state === "disabled") return <Badge kind="bad" icon="circle-alert" text="webhooks.disabled" />;
  if (!isActive) return <Badge kind="" icon="minus" text="webhooks.off" />;
  if (health.state === "failing") return <Badge kind="warn" icon="triangle-alert" text="webhooks.failing" />;
  return <Badge kind="good" icon="circle-check" text="webhooks.ok" />;
}

const Badge = ({ kind, icon, text }: { kind: string; icon: string; text: Key }) => (
  <span class={`badge ${kind}`}>
    <Icon name={icon} />
    {t(text)}
  </span>
);

export const When = ({ at }: { at: string | null }) =>
  at ? (
    <time dateTime={at} title={exactTime(at)}>
      {ago(at)}
    </time>
  ) : (
    <span>{t("never")}</span>
  );

export function Events({ events, most = events.length }: { events: string[]; most?: number }) {
  const names = events.slice(0, most).map(eventName);
  const others = events.length - names.length;
  return <Tags names={others > 0 ? [...names, t("webhooks.others", { count: others })] : names} />;
}

export function AccountName({ id, accounts }: { id: string; accounts: ServiceAccountItem[] }) {
  const account = accounts.find((candidate) => candidate.id === id);
  if (!account) return <code title={id}>…{id.slice(-8)}</code>;
  return (
    <>
      <a href={href("keys", id)}>
        <bdi>{account.name}</bdi>
      </a>
      {!account.isActive && <span class="badge bad">{t("members.disabled")}</span>}
    </>
  );
}

export function Secret({ of: { secret, publicKey }, onClose }: { of: Shown; onClose: () => void }) {
  const text = secret ?? publicKey ?? "";
  return (
    <Dialog title={t(secret ? "webhooks.secret" : "webhooks.public")} onClose={onClose} keeps>
      <p>{t(secret ? "webhooks.secret.text" : "webhooks.public.text")}</p>
      <pre dir="ltr">{text}</pre>
      <button type="button" class="primary" onClick={() => void copy(text)}>
        <Icon name="copy" />
        {t("copy")}
      </button>
    </Dialog>
  );
}
