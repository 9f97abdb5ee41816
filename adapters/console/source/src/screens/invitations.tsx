// Invitations of the tenant: who was asked to join, by whom, and what became of it.
import { useState } from "preact/hooks";
import { call } from "../api/api";
import { ask, Dialog } from "../parts/Dialog";
import { CheckList, Pager, Summary, useSending } from "../parts/Fields";
import { Icon } from "../parts/Icon";
import { Notice, Ready, useLoaded } from "../parts/States";
import { failed, toast } from "../parts/Toast";
import { may } from "../session/session";
import { ago, exactTime, type Key, t } from "../words/words";
import type { Paged } from "./identity";
import { PersonName } from "./names";

interface Invitation {
  id: string;
  email: string;
  roles: string[];
  status: "pending" | "accepted" | "declined" | "revoked" | "expired";
  invitedBy: string;
  createdAt: string;
  expiresAt: string;
}

const STATES: Invitation["status"][] = ["pending", "accepted", "declined", "revoked", "expired"];
const COLOURS: Record<Invitation["status"], string> = {
  pending: "accent",
  accepted: "good",
  declined: "bad",
  revoked: "",
  expired: "warn",
};

export function Invitations({ roles }: { roles: string[] }) {
  const [status, setStatus] = useState("pending");
  const [page, setPage] = useState(1);
  const [isAdding, setAdding] = useState(false);
  const loaded = useLoaded<Paged<Invitation>>(async () => {
    const query: Record<string, string> = { page: String(page), pageSize: "50" };
    if (status) query.status = status;
    return (await call<Paged<Invitation>>("GET", "/api/invitations", { query })).data;
  }, [page, status]);
  return (
    <>
      <div class="tools">
        <span class="pick">
          <select
            aria-label={t("members.state")}
            value={status}
            onChange={(event) => {
              setStatus(event.currentTarget.value);
              setPage(1);
            }}
          >
            <option value="">{t("members.all")}</option>
            {STATES.map((name) => (
              <option key={name} value={name}>
                {t(`invitation.${name}` as Key)}
              </option>
            ))}
          </select>
        </span>
        {may("create:invitations") && (
          <button type="button" class="primary" onClick={() => setAdding(true)}>
            <Icon name="mail" />
            {t("invitations.add")}
          </button>
        )}
      </div>
      <Ready loaded={loaded}>
        {(invitations) =>
          invitations.items.length ? (
            <>
              <Table invitations={invitations.items} reload={loaded.reload} />
              <Pager page={invitations.page} pages={invitations.totalPages} go={setPage} />
            </>
          ) : (
            <Notice icon="mail" title={t("invitations.none")} />
          )
        }
      </Ready>
      {isAdding && <Invite roles={roles} onClose={() => setAdding(false)} done={loaded.reload} />}
    </>
  );
}

function Table({ invitations, reload }: { invitations: Invitation[]; reload: () => Promise<void> }) {
  async function act(method: string, path: string, text: Key): Promise<void> {
    try {
      await call(method, path);
      toast(t(text));
      await reload();
    } catch (error) {
      failed(error);
    }
  }
  async function revoke(invitation: Invitation): Promise<void> {
    const title = t("invitation.revoke.title", { name: invitation.email });
    if (!(await ask(title, t("invitation.revoke.text"), t("invitation.revoke")))) return;
    await act("DELETE", `/api/invitations/${invitation.id}`, "saved");
  }
  return (
    <div class="table-box">
      <table class="plain">
        <thead>
          <tr>
            <th scope="col">{t("email")}</th>
            <th scope="col">{t("roles")}</th>
            <th scope="col">{t("members.state")}</th>
            <th scope="col">{t("invitation.by")}</th>
            <th scope="col">{t("invitation.expires")}</th>
            <th scope="col">
              <span class="unseen">{t("more")}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {invitations.map((invitation) => (
            <tr key={invitation.id}>
              <th scope="row">
                <bdi>{invitation.email}</bdi>
              </th>
              <td>
                <span class="tags">
                  {invitation.roles.map((role) => (
                    <bdi class="badge" key={role}>
                      {role}
                    </bdi>
                  ))}
                </span>
              </td>
              <td>
                <span class={`badge ${COLOURS[invitation.status]}`}>{t(`invitation.${invitation.status}` as Key)}</span>
              </td>
              <td>
                <PersonName id={invitation.invitedBy} />
              </td>
              <td class="muted">
                <time title={exactTime(invitation.expiresAt)}>{ago(invitation.expiresAt)}</time>
              </td>
              <td class="numeric">
                {invitation.status === "pending" && may("create:invitations") && (
                  <button
                    type="button"
                    class="plain"
                    onClick={() => void act("POST", `/api/invitations/${invitation.id}/resend`, "invitation.sent")}
                  >
                    {t("invitation.resend")}
                  </button>
                )}
                {invitation.status === "pending" && may("delete:invitations") && (
                  <button type="button" class="plain quiet-danger" onClick={() => void revoke(invitation)}>
                    {t("invitation.revoke")}
                  </button>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** One address or many: each on a line of its own, all with the same roles, all or none. */
function Invite({ roles, onClose, done }: { roles: string[]; onClose: () => void; done: () => Promise<void> }) {
  const [text, setText] = useState("");
  const [chosen, choose] = useState<string[]>(roles.includes("Member") ? ["Member"] : []);
  const sending = useSending();
  const emails = text.split(/[\s,;]+/).filter(Boolean);
  function submit(event: Event): void {
    event.preventDefault();
    void sending.run(async () => {
      const [first] = emails;
      if (emails.length === 1) await call("POST", "/api/invitations", { json: { email: first, roles: chosen } });
      else
        await call("POST", "/api/invitations/batch", {
          json: { items: emails.map((email) => ({ email, roles: chosen })) },
        });
      toast(t("invitation.sent"));
      onClose();
      await done();
    });
  }
  return (
    <Dialog title={t("invitations.add")} onClose={onClose}>
      <form class="section" onSubmit={submit} noValidate aria-busy={sending.isBusy}>
        <Summary sending={sending} />
        <label class="field">
          <span>{t("invitations.emails")}</span>
          <textarea dir="ltr" rows={3} value={text} onInput={(event) => setText(event.currentTarget.value)} />
        </label>
        <CheckList legend={t("roles")} all={roles} chosen={chosen} change={choose} />
        <button type="submit" class="primary" disabled={sending.isBusy || !emails.length}>
          {t("invitations.add")}
        </button>
      </form>
    </Dialog>
  );
}

interface Received {
  id: string;
  tenant: { name: string };
  invitedBy: string;
  expiresAt: string;
}

/** Invitations to the caller's own address, in the account. */
export function MyInvitations({ joined }: { joined: () => Promise<void> }) {
  const loaded = useLoaded(async () => (await call<Received[]>("GET", "/api/auth/invitations")).data, []);
  async function accept(invitation: Received): Promise<void> {
    try {
      await call("POST", `/api/auth/invitations/${invitation.id}/accept`);
      toast(t("invitation.joined", { name: invitation.tenant.name }));
      await loaded.reload();
      await joined();
    } catch (error) {
      failed(error);
    }
  }
  if (!loaded.data?.length) return null;
  return (
    <section class="panel">
      <h2>{t("invitations.mine")}</h2>
      <ul class="sessions">
        {loaded.data.map((invitation) => (
          <li class="session" key={invitation.id}>
            <Icon name="mail" class="muted" />
            <div class="what">
              <bdi>{invitation.tenant.name}</bdi>
              <p class="muted small">
                {t("invitation.from", { name: invitation.invitedBy })} · {ago(invitation.expiresAt)}
              </p>
            </div>
            <button type="button" class="primary" onClick={() => void accept(invitation)}>
              {t("invitation.accept")}
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}
