// Webhooks of the tenant, with their health.
import { useState } from "preact/hooks";
import { call } from "../api/api";
import type { NewWebhook, ServiceAccountItem, WebhookItem } from "../api/types";
import { Icon } from "../parts/Icon";
import { Notice, Ready, useLoaded } from "../parts/States";
import { Table } from "../parts/Table";
import { Head } from "../parts/Title";
import { go, href } from "../session/routes";
import { may } from "../session/session";
import { number, t } from "../words/words";
import { WEBHOOKS, WebhookForm } from "./webhookForm";
import { AccountName, accountsOf, Events, HealthBadge, Secret, type Shown, When } from "./webhookParts";

export function Webhooks() {
  const loaded = useLoaded(async () => (await call<WebhookItem[]>("GET", WEBHOOKS)).data, []);
  const accounts = useLoaded(accountsOf, []);
  const [isAdding, setAdding] = useState(false);
  const [made, show] = useState<Shown | null>(null);
  return (
    <>
      <Head title={t("webhooks")}>
        {may("create:webhooks") && (
          <button type="button" class="primary" onClick={() => setAdding(true)}>
            <Icon name="plus" />
            {t("webhooks.add")}
          </button>
        )}
      </Head>
      <Ready loaded={loaded}>
        {(webhooks) =>
          webhooks.length ? (
            <List webhooks={webhooks} accounts={accounts.data ?? []} />
          ) : (
            <Notice icon="webhook" title={t("webhooks.none")} text={t("webhooks.none.text")} />
          )
        }
      </Ready>
      {isAdding && (
        <WebhookForm
          accounts={accounts.data ?? []}
          onClose={() => setAdding(false)}
          saved={(webhook) => show(webhook as NewWebhook)}
        />
      )}
      {made && <Secret of={made} onClose={() => void go(href("webhooks", made.id))} />}
    </>
  );
}

interface ListProps {
  webhooks: WebhookItem[];
  accounts: ServiceAccountItem[];
}

const List = ({ webhooks, accounts }: ListProps) => (
  <Table
    rows={webhooks}
    columns={[
      {
        title: t("webhooks.url"),
        cell: ({ id, url, description }) => (
          <div class="address">
            <a href={href("webhooks", id)}>
              <bdi>{url}</bdi>
            </a>
            {description && <bdi class="muted small">{description}</bdi>}
          </div>
        ),
      },
      { title: t("webhooks.events"), cell: ({ events }) => <Events events={events} most={3} /> },
      { title: t("members.state"), cell: (webhook) => <HealthBadge webhook={webhook} /> },
      {
        title: t("webhooks.success"),
        class: "muted",
        cell: ({ health }) => <When at={health.lastSuccessAt} />,
      },
      {
        title: t("webhooks.waiting"),
        class: "numeric",
        cell: ({ health }) => number(health.waiting),
      },
      {
        title: t("webhooks.account"),
        cell: ({ serviceAccountId }) => <AccountName id={serviceAccountId} accounts={accounts} />,
      },
    ]}
  />
);
