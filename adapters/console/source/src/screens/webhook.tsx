// One webhook: its health, what it sends where, a test, its secret, and its deliveries.
import { useState } from "preact/hooks";
import { call } from "../api/api";
import type { NewWebhook, ServiceAccountItem, TestResult, WebhookItem } from "../api/types";
import { copy } from "../grid/views";
import { Button } from "../parts/Button";
import { ask, Dialog } from "../parts/Dialog";
import { Icon } from "../parts/Icon";
import { Menu } from "../parts/Menu";
import { Ready, useLoaded } from "../parts/States";
import { Crumb, Head } from "../parts/Title";
import { attempt } from "../parts/Toast";
import { go, href } from "../session/routes";
import { may } from "../session/session";
import { ago, type Key, number, t, time } from "../words/words";
import { PersonName } from "./names";
import { Deliveries, Replay } from "./webhookDeliveries";
import { WEBHOOKS, WebhookForm } from "./webhookForm";
import { AccountName, accountsOf, Events, HealthBadge, Secret, type Shown, When } from "./webhookParts";

export function WebhookScreen({ id }: { id: string }) {
  const path = `${WEBHOOKS}/${encodeURIComponent(id)}`;
  const loaded = useLoaded(async () => (await call<WebhookItem>("GET", path)).data, [path]);
  return (
    <>
      <Crumb to="webhooks">{t("webhooks")}</Crumb>
      <Ready loaded={loaded} isScreen>
        {(webhook) => <One path={path} webhook={webhook} set={loaded.set} />}
      </Ready>
    </>
  );
}

interface OneProps {
  path: string;
  webhook: WebhookItem;
  set: (webhook: WebhookItem) => void;
}

function One({ path, webhook, set }: OneProps) {
  const accounts = useLoaded(accountsOf, []);
  const [shown, show] = useState<"form" | "replay" | null>(null);
  const [secret, showSecret] = useState<Shown | null>(null);
  const [again, setAgain] = useState(0);
  const mayChange = may("update:webhooks");
  const [host] = webhook.url.replace(/^https?:\/\//, "").split("/");
  const activate = (isActive: boolean) =>
    attempt(async () => set((await call<WebhookItem>("PUT", path, { json: { isActive } })).data), "saved");
  async function rotate(): Promise<void> {
    if (!(await ask(t("webhooks.rotate"), t("webhooks.rotate.text"), t("webhooks.rotate"), false))) return;
    await attempt(async () => {
      const { data } = await call<NewWebhook>("POST", `${path}/secret`);
      set(data);
      showSecret(data);
    });
  }
  async function remove(): Promise<void> {
    if (!(await ask(t("webhooks.remove", { name: webhook.url }), t("webhooks.remove.text"), t("delete")))) return;
    if (await attempt(() => call("DELETE", path), "saved")) await go(href("webhooks"));
  }
  return (
    <>
      <Head name={host} state={<HealthBadge webhook={webhook} />}>
        {mayChange && <SendTest path={path} />}
        {mayChange && (
          <button type="button" onClick={() => show("form")}>
            <Icon name="pencil" />
            {t("account.edit")}
          </button>
        )}
        {mayChange && (
          <Menu label={t("more")} icon="ellipsis" hideText>
            {(close) => (
              <div class="menu">
                <button type="button" onClick={() => (close(), show("replay"))}>
                  <Icon name="history" />
                  {t("webhooks.replay")}
                </button>
                <button type="button" onClick={() => (close(), void rotate())}>
                  <Icon name="key-round" />
                  {t("webhooks.rotate")}
                </button>
                <button type="button" onClick={() => (close(), void activate(!webhook.isActive))}>
                  <Icon name="toggle-left" />
                  {t(webhook.isActive ? "webhooks.deactivate" : "webhooks.activate")}
                </button>
              </div>
            )}
          </Menu>
        )}
        {may("delete:webhooks") && (
          <button type="button" class="quiet-danger" onClick={() => void remove()}>
            <Icon name="trash-2" />
            {t("delete")}
          </button>
        )}
      </Head>
      <Trouble webhook={webhook} activate={mayChange ? () => void activate(true) : undefined} />
      <Facts webhook={webhook} accounts={accounts.data ?? []} />
      <Deliveries key={again} path={path} mayRetry={mayChange} />
      {shown === "form" && (
        <WebhookForm
          webhook={webhook}
          accounts={accounts.data ?? []}
          onClose={() => show(null)}
          saved={(changed) => set(changed)}
        />
      )}
      {shown === "replay" && (
        <Replay path={path} webhook={webhook} onClose={() => show(null)} done={() => setAgain((count) => count + 1)} />
      )}
      {secret && <Secret of={secret} onClose={() => showSecret(null)} />}
    </>
  );
}

/** What is wrong with a webhook that fails or was disabled, and what helps. */
function Trouble({ webhook: { health }, activate }: { webhook: WebhookItem; activate?: () => void }) {
  if (health.state === "ok") return null;
  const isDisabled = health.state === "disabled";
  const status = health.lastStatus ? t("webhooks.status", { status: String(health.lastStatus) }) : "";
  const since = health.failingSince ? t("webhooks.since", { when: ago(health.failingSince) }) : "";
  return (
    <div class={isDisabled ? "bar bad" : "bar warn"} role="status">
      <Icon name={isDisabled ? "circle-alert" : "triangle-alert"} />
      <span>{[t(isDisabled ? "webhooks.disabled.text" : "webhooks.failing.text"), since, status].join(" ")}</span>
      {isDisabled && activate && (
        <button type="button" onClick={activate}>
          {t("webhooks.activate")}
        </button>
      )}
    </div>
  );
}

function Facts({ webhook, accounts }: { webhook: WebhookItem; accounts: ServiceAccountItem[] }) {
  const { health, publicKey } = webhook;
  return (
    <dl class="facts">
      <dt>{t("webhooks.url")}</dt>
      <dd>
        <bdi>{webhook.url}</bdi>
      </dd>
      {webhook.description && (
        <>
          <dt>{t("description")}</dt>
          <dd>
            <bdi>{webhook.description}</bdi>
          </dd>
        </>
      )}
      <dt>{t("webhooks.events")}</dt>
      <dd>
        <Events events={webhook.events} />
      </dd>
      <dt>{t("webhooks.account")}</dt>
      <dd>
        <AccountName id={webhook.serviceAccountId} accounts={accounts} />
      </dd>
      <dt>{t("webhooks.sends")}</dt>
      <dd>
        {[`content.${webhook.content}`, `order.${webhook.order}`, `signature.${webhook.signature}`]
          .map((name) => t(`webhooks.${name}` as Key))
          .join(" · ")}
      </dd>
      {publicKey && (
        <>
          <dt>{t("webhooks.public")}</dt>
          <dd class="row">
            <code>{publicKey}</code>
            <button type="button" class="plain square" aria-label={t("copy")} onClick={() => void copy(publicKey)}>
              <Icon name="copy" />
            </button>
          </dd>
        </>
      )}
      <dt>{t("webhooks.success")}</dt>
      <dd>
        <When at={health.lastSuccessAt} />
      </dd>
      <dt>{t("webhooks.waiting")}</dt>
      <dd>{number(health.waiting)}</dd>
      <dt>{t("history.created")}</dt>
      <dd>
        {time(webhook.createdAt)} · <PersonName id={webhook.createdBy} />
      </dd>
    </dl>
  );
}

function SendTest({ path }: { path: string }) {
  const [isBusy, setBusy] = useState(false);
  const [result, set] = useState<TestResult | null>(null);
  async function send(): Promise<void> {
    setBusy(true);
    await attempt(async () => set((await call<TestResult>("POST", `${path}/test`)).data));
    setBusy(false);
  }
  return (
    <>
      <Button isResting={isBusy} onClick={() => void send()}>
        <Icon name="send" />
        {t("webhooks.test")}
      </Button>
      {result && <Tested result={result} onClose={() => set(null)} />}
    </>
  );
}

function Tested({ result: { status, durationMs, error }, onClose }: { result: TestResult; onClose: () => void }) {
  const isGood = status !== null && status >= 200 && status < 300;
  const answered = t("webhooks.tested", { status: String(status), duration: durationMs });
  return (
    <Dialog title={t("webhooks.test")} onClose={onClose}>
      <p class={isGood ? "row" : "row bad-text"}>
        <Icon name={isGood ? "circle-check" : "circle-alert"} />
        <span>{error ?? answered}</span>
      </p>
      {!isGood && <p class="muted">{t("webhooks.tested.bad")}</p>}
    </Dialog>
  );
}
