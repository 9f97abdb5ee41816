// People who join by the address of their e-mail: who asks to, and the domains by which one does.
import { useState } from "preact/hooks";
import { call } from "../api/api";
import type { DomainItem, JoinRequestItem } from "../api/types";
import { ask } from "../parts/Dialog";
import { TextField } from "../parts/Fields";
import { FormDialog } from "../parts/FormDialog";
import { Icon } from "../parts/Icon";
import { Notice, Ready, useLoaded } from "../parts/States";
import { Listed, Pick, Table, Tags, usePaged } from "../parts/Table";
import { attempt, toast } from "../parts/Toast";
import { may } from "../session/session";
import { date, type Key, t } from "../words/words";
import { rolesOf } from "./identity";
import { mayGive, ofMemberships, RolePicker } from "./RolePicker";

export function JoinRequests() {
  const list = usePaged<JoinRequestItem>("/api/join-requests", {});
  const [asked, askRoles] = useState<JoinRequestItem | null>(null);
  async function approve(request: JoinRequestItem): Promise<void> {
    if (!request.may.approve) return askRoles(request);
    if (await attempt(() => letIn(request), "joining.approved")) await list.reload();
  }
  async function decline({ id, email }: JoinRequestItem): Promise<void> {
    if (!(await ask(t("joining.decline.title", { name: email }), t("joining.decline.text"), t("joining.decline"))))
      return;
    if (await attempt(() => call("DELETE", `/api/join-requests/${id}`), "saved")) await list.reload();
  }
  return (
    <>
      <Listed list={list} empty={<Notice icon="user-plus" title={t("joining.none")} text={t("joining.none.text")} />}>
        {(requests) => (
          <Table
            rows={requests}
            columns={[
              { title: t("name"), cell: (request) => <bdi>{request.fullName || request.email}</bdi> },
              { title: t("email"), cell: (request) => <bdi>{request.email}</bdi> },
              { title: t("tenant.domain"), cell: (request) => <bdi>{request.domain}</bdi> },
              { title: t("roles"), cell: (request) => <Tags names={request.roles} /> },
              { title: t("members.since"), class: "muted", cell: (request) => date(request.createdAt) },
              {
                title: t("more"),
                isUnseen: true,
                class: "numeric",
                cell: (request) => (
                  <>
                    <button
                      type="button"
                      class="plain"
                      disabled={!mayDecide(request)}
                      onClick={() => void approve(request)}
                    >
                      {t("joining.approve")}
                    </button>
                    <button type="button" class="plain quiet-danger" onClick={() => void decline(request)}>
                      {t("joining.decline")}
                    </button>
                    {!mayDecide(request) && <p class="muted small">{t("joining.beyond")}</p>}
                  </>
                ),
              },
            ]}
          />
        )}
      </Listed>
      {asked && <LetIn request={asked} onClose={() => askRoles(null)} done={list.reload} />}
    </>
  );
}

/** Without roles those of the domain are given. */
const letIn = ({ id }: JoinRequestItem, roles?: string[]) =>
  call("POST", `/api/join-requests/${id}/approve`, { json: { roles } });

/** Whether the caller can let somebody in: with the roles of the domain, or with others that they choose. */
const mayDecide = (request: JoinRequestItem) => request.may.approve || may("read:roles");

interface LetInProps {
  request: JoinRequestItem;
  onClose: () => void;
  done: () => Promise<void>;
}

/** The roles of the domain are more than the caller may give: they choose others. */
function LetIn({ request, onClose, done }: LetInProps) {
  const loaded = useLoaded(rolesOf, []);
  const roles = ofMemberships(loaded.data ?? []);
  const [picked, choose] = useState<string[] | null>(null);
  const chosen = picked ?? ["Member"].filter((name) => mayGive(roles, name));
  return (
    <FormDialog
      title={t("joining.approve.title", { name: request.fullName || request.email })}
      submit={t("joining.approve")}
      onClose={onClose}
      isReady={loaded.data !== null}
      send={() => letIn(request, chosen)}
      done={() => (toast(t("joining.approved")), done())}
    >
      {() => (
        <>
          <p>{t("joining.choose", { roles: request.roles.join(", ") })}</p>
          <RolePicker roles={roles} chosen={chosen} change={choose} />
        </>
      )}
    </FormDialog>
  );
}

const PATH = "/api/tenants/current/domains";
const MODES: DomainItem["mode"][] = ["join", "request", "off"];
const COLOURS: Record<DomainItem["state"], string> = { verified: "good", pending: "warn", lost: "bad" };

/** Domains of the tenant, with the record that proves each; for those who may change the settings. */
export function Domains() {
  const loaded = useLoaded(async () => (await call<DomainItem[]>("GET", PATH)).data, []);
  const [edited, edit] = useState<DomainItem | "new" | null>(null);
  async function verify({ domain }: DomainItem): Promise<void> {
    if (await attempt(() => call("POST", `${PATH}/${domain}/verify`), "domains.proved")) await loaded.reload();
  }
  async function remove({ domain }: DomainItem): Promise<void> {
    if (!(await ask(t("domains.remove.title", { name: domain }), t("domains.remove.text"), t("delete")))) return;
    if (await attempt(() => call("DELETE", `${PATH}/${domain}`), "saved")) await loaded.reload();
  }
  return (
    <section class="panel">
      <div class="row">
        <h2>{t("domains")}</h2>
        <span class="space" />
        <button type="button" onClick={() => edit("new")}>
          <Icon name="plus" />
          {t("domains.add")}
        </button>
      </div>
      <Ready loaded={loaded}>
        {(domains) =>
          domains.length ? (
            <Table
              rows={domains}
              id={({ domain }) => domain}
              columns={[
                { title: t("tenant.domain"), cell: Proof },
                {
                  title: t("members.state"),
                  cell: ({ state }) => <span class={`badge ${COLOURS[state]}`}>{t(`domains.${state}` as Key)}</span>,
                },
                { title: t("domains.mode"), cell: ({ mode }) => t(`domains.mode.${mode}` as Key) },
                { title: t("roles"), cell: ({ roles }) => <Tags names={roles} /> },
                {
                  title: t("more"),
                  isUnseen: true,
                  class: "numeric",
                  cell: (domain) => (
                    <>
                      {domain.state !== "verified" && (
                        <button type="button" class="plain" onClick={() => void verify(domain)}>
                          {t("domains.verify")}
                        </button>
                      )}
                      <button type="button" class="plain" onClick={() => edit(domain)}>
                        {t("account.edit")}
                      </button>
                      <button type="button" class="plain quiet-danger" onClick={() => void remove(domain)}>
                        {t("delete")}
                      </button>
                    </>
                  ),
                },
              ]}
            />
          ) : (
            <p class="muted">{t("domains.none")}</p>
          )
        }
      </Ready>
      {edited && <DomainForm of={edited === "new" ? null : edited} onClose={() => edit(null)} done={loaded.reload} />}
    </section>
  );
}

/** A domain, and as long as it is not proved the record that would prove it. */
const Proof = ({ domain, state, record }: DomainItem) => (
  <>
    <bdi>{domain}</bdi>
    {state !== "verified" && (
      <p class="muted small record">
        {t("domains.record")}
        <br />
        <code dir="ltr">{`${record.name} ${record.type} ${record.value}`}</code>
      </p>
    )}
  </>
);

interface FormProps {
  of: DomainItem | null;
  onClose: () => void;
  done: () => Promise<void>;
}

function DomainForm({ of, onClose, done }: FormProps) {
  const loaded = useLoaded(async () => (may("read:roles") ? rolesOf() : []), []);
  const roles = ofMemberships(loaded.data ?? []);
  const [domain, setDomain] = useState(of?.domain ?? "");
  const [mode, setMode] = useState<string>(of?.mode ?? "request");
  const [picked, choose] = useState<string[] | null>(of?.roles ?? null);
  const chosen = picked ?? ["Member"].filter((name) => mayGive(roles, name));
  const title = of ? of.domain : t("domains.add");
  return (
    <FormDialog
      title={title}
      submit={t(of ? "save" : "domains.add")}
      onClose={onClose}
      send={() => call("POST", PATH, { json: { domain, mode, roles: chosen } })}
      done={() => (toast(t("saved")), done())}
    >
      {(sending) => (
        <>
          <TextField
            label={t("tenant.domain")}
            name="domain"
            value={domain}
            change={setDomain}
            sending={sending}
            disabled={!!of}
            hint={t("domains.hint")}
            required
          />
          <Pick
            label={t("domains.mode")}
            isField
            value={mode}
            choose={setMode}
            options={MODES.map((name): [string, string] => [name, t(`domains.mode.${name}` as Key)])}
          />
          <RolePicker roles={roles} chosen={chosen} change={choose} mayLeaveOut />
        </>
      )}
    </FormDialog>
  );
}
