// The form of a webhook: where to, as which service account, which events, and how.
import type { ComponentChildren } from "preact";
import { useId, useState } from "preact/hooks";
import { call } from "../api/api";
import { type Entity, entityOf, meta } from "../api/meta";
import type { ServiceAccountItem, WebhookItem } from "../api/types";
import { entityTitle } from "../grid/cells";
import { type Sending, TextField } from "../parts/Fields";
import { FormDialog } from "../parts/FormDialog";
import { href } from "../session/routes";
import { may } from "../session/session";
import { type Key, t } from "../words/words";

export const WEBHOOKS = "/api/webhooks";

interface Props {
  /** The webhook to change; without it, a new one. */
  webhook?: WebhookItem;
  accounts: ServiceAccountItem[];
  onClose: () => void;
  saved: (webhook: WebhookItem) => unknown;
}

type Draft = Pick<
  WebhookItem,
  "url" | "serviceAccountId" | "events" | "content" | "order" | "signature" | "description"
>;

const EMPTY: Draft = {
  url: "https://",
  serviceAccountId: "",
  events: [],
  content: "full",
  order: "row",
  signature: "v1",
  description: "",
};

export function WebhookForm({ webhook, accounts, onClose, saved }: Props) {
  const [draft, setDraft] = useState<Draft>(webhook ?? EMPTY);
  const set = (part: Partial<Draft>) => setDraft((before) => ({ ...before, ...part }));
  async function send(): Promise<WebhookItem> {
    const { url, serviceAccountId, events, content, order, signature, description } = draft;
    // what is not chosen is not sent: the service then says that it is needed
    const account = serviceAccountId || undefined;
    const json = { url, serviceAccountId: account, content, order, description };
    // the signature of a webhook cannot change
    if (webhook)
      return (await call<WebhookItem>("PUT", `${WEBHOOKS}/${webhook.id}`, { json: { ...json, events } })).data;
    const asked = { ...json, signature, events: events.length ? events : undefined };
    return (await call<WebhookItem>("POST", WEBHOOKS, { json: asked })).data;
  }
  const title = t(webhook ? "webhooks.edit" : "webhooks.add");
  return (
    <FormDialog title={title} submit={webhook ? t("save") : title} onClose={onClose} send={send} done={saved}>
      {(sending) => (
        <>
          <TextField
            label={t("webhooks.url")}
            name="url"
            value={draft.url}
            change={(url) => set({ url: url.trim() })}
            sending={sending}
            hint={t("webhooks.url.hint")}
            required
          />
          <Account
            value={draft.serviceAccountId}
            accounts={accounts}
            choose={(serviceAccountId) => set({ serviceAccountId })}
            sending={sending}
          />
          <EventPicker chosen={draft.events} change={(events) => set({ events })} sending={sending} />
          <TextField
            label={t("description")}
            name="description"
            value={draft.description}
            change={(description) => set({ description })}
            sending={sending}
          />
          <Choice
            label="content"
            value={draft.content}
            values={["full", "thin"]}
            choose={(content) => set({ content })}
          />
          <Choice label="order" value={draft.order} values={["row", "none"]} choose={(order) => set({ order })} />
          {!webhook && (
            <Choice
              label="signature"
              value={draft.signature}
              values={["v1", "v1a"]}
              choose={(signature) => set({ signature })}
            />
          )}
        </>
      )}
    </FormDialog>
  );
}

interface ChoiceProps<T extends string> {
  label: "content" | "order" | "signature";
  value: T;
  values: T[];
  choose: (value: T) => void;
}

const Choice = <T extends string>({ label, value, values, choose }: ChoiceProps<T>) => (
  <label class="field">
    <span>{t(`webhooks.${label}`)}</span>
    <select value={value} onChange={(event) => choose(event.currentTarget.value as T)}>
      {values.map((each) => (
        <option key={each} value={each}>
          {t(`webhooks.${label}.${each}` as Key)}
        </option>
      ))}
    </select>
  </label>
);

interface AccountProps {
  value: string;
  accounts: ServiceAccountItem[];
  choose: (id: string) => void;
  sending: Sending;
}

/** A choice of the accounts; who may not read them types an id. */
function Account({ value, accounts, choose, sending }: AccountProps) {
  const id = useId();
  const problem = sending.problems.serviceAccountId;
  const label = t("webhooks.account");
  const isUnknown = value !== "" && !accounts.some((account) => account.id === value);
  if (!accounts.length && may("read:service-accounts"))
    return (
      <p>
        {t("webhooks.account.none")} <a href={href("keys")}>{t("keys.add")}</a>
      </p>
    );
  if (!accounts.length)
    return <TextField label={label} name="serviceAccountId" value={value} change={choose} sending={sending} required />;
  sending.shown.add("serviceAccountId");
  return (
    <div class="field">
      <label for={id}>
        {label}
        <span aria-hidden="true"> *</span>
      </label>
      <select
        id={id}
        value={value}
        aria-required
        aria-invalid={problem ? true : undefined}
        aria-describedby={`${id}-hint ${id}-problem`}
        onChange={(event) => choose(event.currentTarget.value)}
      >
        <option value="">{t("webhooks.account.choose")}</option>
        {isUnknown && <option value={value}>{value}</option>}
        {accounts.map((account) => (
          <option key={account.id} value={account.id}>
            {account.name}
          </option>
        ))}
      </select>
      <Problem id={`${id}-problem`} text={problem} />
      <span class="hint small" id={`${id}-hint`}>
        {t("webhooks.account.hint")}
      </span>
    </div>
  );
}

const Problem = ({ id, text }: { id: string; text?: string }) =>
  text ? (
    <span class="problem" id={id}>
      {text}
    </span>
  ) : null;

/** Actions of an entity that its feed can have. */
function actionsOf(entity: Entity | undefined): string[] {
  const soft = !entity || entity.has.softDelete ? ["restored", "purged"] : [];
  const own = !entity || entity.has.shares || entity.mine.length ? ["entered", "left"] : [];
  return ["created", "changed", "deleted", ...soft, ...own];
}

/** Events of people and of the tenant itself. */
export const IDENTITY = [
  "member.joined",
  "member.changed",
  "member.left",
  "invitation.accepted",
  "user.disabled",
  "role.changed",
  "tenant.changed",
];
const isIdentity = (pattern: string) =>
  IDENTITY.some((event) => event.startsWith(`${pattern.split(".")[0]}.`)) && !entityOf(pattern.split(".")[0] ?? "");

interface PickerProps {
  chosen: string[];
  change: (patterns: string[]) => void;
  sending: Sending;
}

const FEW = 3;

/** Events of each entity with a feed; a pattern of an entity that the caller may not read stays in the list. */
function EventPicker({ chosen, change, sending }: PickerProps) {
  const id = useId();
  const problem = sending.problems.events;
  sending.shown.add("events");
  const feeds = (meta.value?.entities ?? []).filter(({ has }) => has.changes).map(({ plural }) => plural);
  const rows = chosen.filter((pattern) => !isIdentity(pattern));
  const plurals = [...new Set([...feeds, ...rows.map((pattern) => pattern.split(".")[0] ?? "")])];
  const [opened] = useState(() => new Set(plurals.length <= FEW ? plurals : chosen.map((name) => name.split(".")[0])));
  return (
    <fieldset class="field events" aria-describedby={problem && id}>
      <legend>
        {t("webhooks.events")}
        <span aria-hidden="true"> *</span>
      </legend>
      {plurals.map((plural) => (
        <EventsOf key={plural} plural={plural} chosen={chosen} change={change} isOpen={opened.has(plural)} />
      ))}
      {plurals.length > 0 && <EventsOfIdentity chosen={chosen} change={change} />}
      {!plurals.length && <p class="hint small">{t("webhooks.feeds.none")}</p>}
      <Problem id={id} text={problem} />
    </fieldset>
  );
}

const toggled = (chosen: string[], pattern: string) =>
  chosen.includes(pattern) ? chosen.filter((other) => other !== pattern) : [...chosen, pattern];

function EventsOfIdentity({ chosen, change }: Omit<PickerProps, "sending">) {
  const own = chosen.filter(isIdentity);
  const [isOpen] = useState(own.length > 0);
  return (
    <details open={isOpen}>
      <summary>
        {t("webhooks.identity")}
        {own.length > 0 && <span class="muted small">{t("webhooks.count", { count: own.length })}</span>}
      </summary>
      <div class="radios" role="group" aria-label={t("webhooks.identity")}>
        {[...new Set([...IDENTITY, ...own])].map((event) => (
          <Check key={event} isChecked={own.includes(event)} toggle={() => change(toggled(chosen, event))}>
            {eventName(event)}
          </Check>
        ))}
      </div>
    </details>
  );
}

/** A pattern in words: `orders.*` is "Orders: all events". */
export function eventName(pattern: string): string {
  if (IDENTITY.includes(pattern)) return t(`webhooks.identity.${pattern}` as Key);
  const [plural = "", action = ""] = pattern.split(".");
  const key = action === "*" ? "webhooks.every" : `webhooks.event.${action}`;
  return `${entityTitle(entityOf(plural)) || plural}: ${t(key as Key)}`;
}

interface OfProps {
  plural: string;
  chosen: string[];
  change: (patterns: string[]) => void;
  isOpen: boolean;
}

function EventsOf({ plural, chosen, change, isOpen }: OfProps) {
  const every = `${plural}.*`;
  const isEvery = chosen.includes(every);
  const own = chosen.filter((pattern) => pattern.startsWith(`${plural}.`));
  const entity = entityOf(plural);
  const named = own.map((pattern) => pattern.slice(plural.length + 1)).filter((action) => action !== "*");
  const actions = [...new Set([...actionsOf(entity), ...named])];
  const others = chosen.filter((pattern) => !own.includes(pattern));
  const toggle = (pattern: string) => change(toggled(chosen, pattern));
  const count = isEvery ? t("webhooks.every") : own.length ? t("webhooks.count", { count: own.length }) : "";
  return (
    <details open={isOpen}>
      <summary>
        <bdi>{entityTitle(entity) || plural}</bdi>
        <span class="muted small">{count}</span>
      </summary>
      <div class="radios" role="group" aria-label={entityTitle(entity) || plural}>
        <Check
          isChecked={isEvery}
          // with all events, none of them is named
          toggle={() => change(isEvery ? others : [...others, every])}
        >
          {t("webhooks.every")}
        </Check>
        {actions.map((action) => (
          <Check
            key={action}
            isChecked={isEvery || own.includes(`${plural}.${action}`)}
            isResting={isEvery}
            toggle={() => toggle(`${plural}.${action}`)}
          >
            {t(`webhooks.event.${action}` as Key)}
          </Check>
        ))}
      </div>
    </details>
  );
}

interface CheckProps {
  isChecked: boolean;
  isResting?: boolean;
  toggle: () => void;
  children: ComponentChildren;
}

const Check = ({ isChecked, isResting, toggle, children }: CheckProps) => (
  <label class="check">
    <input type="checkbox" checked={isChecked} disabled={isResting} onChange={toggle} />
    {children}
  </label>
);
