// Deliveries of a webhook: what was sent, what waits and what was given up; a retry of one, a replay of a time.
import { useState } from "preact/hooks";
import { call } from "../api/api";
import { entityOf } from "../api/meta";
import type { DeliveryItem, WebhookItem } from "../api/types";
import { TextField } from "../parts/Fields";
import { FormDialog } from "../parts/FormDialog";
import { Icon } from "../parts/Icon";
import { Notice } from "../parts/States";
import { Listed, Pick, Table, usePaged } from "../parts/Table";
import { attempt, toast } from "../parts/Toast";
import { href } from "../session/routes";
import { ago, exactTime, type Key, number, t } from "../words/words";

type State = DeliveryItem["state"];

const STATES: State[] = ["waiting", "delivered", "given-up"];
const LOOKS: Record<State, [kind: string, icon: string]> = {
  waiting: ["", "calendar-clock"],
  delivered: ["good", "circle-check"],
  "given-up": ["bad", "circle-alert"],
};
const stateText = (state: State) => t(`webhooks.state.${state}` as Key);

export function Deliveries({ path, mayRetry }: { path: string; mayRetry: boolean }) {
  const [state, choose] = useState("");
  const list = usePaged<DeliveryItem>(`${path}/deliveries`, { state });
  async function retry({ id }: DeliveryItem): Promise<void> {
    if (await attempt(() => call("POST", `${path}/deliveries/${id}/retry`), "webhooks.retried")) await list.reload();
  }
  return (
    <section class="section">
      <div class="tools">
        <h2>{t("webhooks.deliveries")}</h2>
        <span class="space" />
        <Pick
          label={t("members.state")}
          value={state}
          choose={choose}
          options={[["", t("members.all")], ...STATES.map((each): [string, string] => [each, stateText(each)])]}
        />
        <button
          type="button"
          class="square"
          title={t("reload")}
          aria-label={t("reload")}
          onClick={() => void list.reload()}
        >
          <Icon name="refresh-cw" />
        </button>
      </div>
      <Listed list={list} empty={<Notice icon="send" title={t("webhooks.deliveries.none")} />}>
        {(deliveries) => (
          <Table
            rows={deliveries}
            columns={[
              { title: t("webhooks.event"), cell: ({ event }) => <code>{event}</code> },
              { title: t("webhooks.row"), cell: (delivery) => <RowLink of={delivery} /> },
              { title: t("members.state"), cell: (delivery) => <StateBadge of={delivery} /> },
              { title: t("webhooks.answer"), cell: (delivery) => <Answer of={delivery} /> },
              { title: t("webhooks.tries"), class: "numeric", cell: ({ tries }) => number(tries) },
              {
                title: t("history.created"),
                class: "muted",
                cell: ({ createdAt }) => (
                  <time dateTime={createdAt} title={exactTime(createdAt)}>
                    {ago(createdAt)}
                  </time>
                ),
              },
              {
                title: t("more"),
                isUnseen: true,
                class: "numeric",
                cell: (delivery) =>
                  // one that was not tried is sent anyway
                  mayRetry &&
                  (delivery.state !== "waiting" || delivery.tries > 0) && (
                    <button type="button" class="plain" onClick={() => void retry(delivery)}>
                      {t("webhooks.retry")}
                    </button>
                  ),
              },
            ]}
          />
        )}
      </Listed>
    </section>
  );
}

function RowLink({ of: { event, rowId } }: { of: DeliveryItem }) {
  const entity = entityOf(event.split(".")[0] ?? "");
  const text = <code title={rowId}>…{rowId.slice(-8)}</code>;
  return entity ? <a href={href("rows", entity.plural, rowId)}>{text}</a> : text;
}

function StateBadge({ of: { state, dueAt, tries } }: { of: DeliveryItem }) {
  const [kind, icon] = LOOKS[state];
  return (
    <>
      <span class={`badge ${kind}`}>
        <Icon name={icon} />
        {stateText(state)}
      </span>
      {dueAt && tries > 0 && <p class="muted small">{t("webhooks.next", { when: ago(dueAt) })}</p>}
    </>
  );
}

/** The status, or why there is none; and how long it took. */
function Answer({ of: { lastStatus, lastError, durationMs } }: { of: DeliveryItem }) {
  if (lastStatus === null && !lastError) return <span class="muted">–</span>;
  return (
    <span class="record">
      {lastStatus ?? lastError} {durationMs !== null && <span class="muted small">{number(durationMs)} ms</span>}
    </span>
  );
}

interface ReplayProps {
  path: string;
  webhook: WebhookItem;
  onClose: () => void;
  done: () => void;
}

/** A moment as inputs of the browser have it: in its own time zone, without seconds. */
function localTime(at: Date): string {
  const shifted = new Date(at.getTime() - at.getTimezoneOffset() * 60_000);
  return shifted.toISOString().slice(0, 16);
}

const DAY = 86_400_000; // milliseconds

/** Sends the events of a time again: by default since the last success. */
export function Replay({ path, webhook: { health }, onClose, done }: ReplayProps) {
  const [after, setAfter] = useState(() =>
    localTime(health.lastSuccessAt ? new Date(health.lastSuccessAt) : new Date(Date.now() - DAY)),
  );
  const [until, setUntil] = useState("");
  const moment = (text: string) => (text ? new Date(text).toISOString() : null);
  return (
    <FormDialog
      title={t("webhooks.replay")}
      submit={t("webhooks.replay.send")}
      onClose={onClose}
      send={() => call("POST", `${path}/replay`, { json: { after: moment(after), until: moment(until) } })}
      done={() => (toast(t("webhooks.replayed")), done())}
      isReady={!!after}
    >
      {(sending) => (
        <>
          <p>{t("webhooks.replay.text")}</p>
          <TextField
            label={t("webhooks.after")}
            name="after"
            type="datetime-local"
            value={after}
            change={setAfter}
            sending={sending}
            required
          />
          <TextField
            label={t("webhooks.until")}
            name="until"
            type="datetime-local"
            value={until}
            change={setUntil}
            sending={sending}
            hint={t("webhooks.until.hint")}
          />
        </>
      )}
    </FormDialog>
  );
}
