// Invitations of the tenant: who was asked to join, by whom, and what became of it.

import { useId, useState } from "preact/hooks";
import { call } from "../api/api";
import type { InvitationItem, ReceivedInvitation, ListedRoleItem as Role } from "../api/types";
import { ask } from "../parts/Dialog";
import type { Sending } from "../parts/Fields";
import { FormDialog } from "../parts/FormDialog";
import { Icon } from "../parts/Icon";
import { Notice, useLoaded } from "../parts/States";
import { Listed, Pick, Table, Tags, usePaged } from "../parts/Table";
import { attempt, toast } from "../parts/Toast";
import { may } from "../session/session";
import { ago, exactTime, type Key, t } from "../words/words";
import { PersonName } from "./names";
import { mayGive, ofMemberships, RolePicker } from "./RolePicker";

const STATES: InvitationItem["status"][] = ["pending", "accepted", "declined", "revoked", "expired"];
const COLOURS: Record<InvitationItem["status"], string> = {
  pending: "accent",
  accepted: "good",
  declined: "bad",
  revoked: "",
  expired: "warn",
};
const nameOf = (status: InvitationItem["status"]) => t(`invitation.${status}` as Key);

export function Invitations({ roles }: { roles: Role[] }) {
  const [status, setStatus] = useState("pending");
  const [isAdding, setAdding] = useState(false);
  const list = usePaged<InvitationItem>("/api/invitations", { status });
  return (
    <>
      <div class="tools">
        <Pick
          label={t("members.state")}
          value={status}
          choose={setStatus}
          options={[["", t("members.all")], ...STATES.map((name): [string, string] => [name, nameOf(name)])]}
        />
        {may("create:invitations") && (
          <button type="button" class="primary" onClick={() => setAdding(true)}>
            <Icon name="mail" />
            {t("invitations.add")}
          </button>
        )}
      </div>
      <Listed list={list} empty={<Notice icon="mail" title={t("invitations.none")} />}>
        {(invitations) => <Sent invitations={invitations} reload={list.reload} />}
      </Listed>
      {isAdding && <Invite roles={ofMemberships(roles)} onClose={() => setAdding(false)} done={list.reload} />}
    </>
  );
}

function Sent({ invitations, reload }: { invitations: InvitationItem[]; reload: () => Promise<void> }) {
  async function resend({ id }: InvitationItem): Promise<void> {
    if (await attempt(() => call("POST", `/api/invitations/${id}/resend`), "invitation.sent")) await reload();
  }
  async function revoke({ id, email }: InvitationItem): Promise<void> {
    const title = t("invitation.revoke.title", { name: email });
    if (!(await ask(title, t("invitation.revoke.text"), t("invitation.revoke")))) return;
    if (await attempt(() => call("DELETE", `/api/invitations/${id}`), "saved")) await reload();
  }
  return (
    <Table
      rows={invitations}
      columns={[
        { title: t("email"), cell: (invitation) => <bdi>{invitation.email}</bdi> },
        { title: t("roles"), cell: (invitation) => <Tags names={invitation.roles} /> },
        {
          title: t("members.state"),
          cell: ({ status }) => <span class={`badge ${COLOURS[status]}`}>{nameOf(status)}</span>,
        },
        { title: t("invitation.by"), cell: (invitation) => <PersonName id={invitation.invitedBy} /> },
        {
          title: t("invitation.expires"),
          class: "muted",
          cell: ({ expiresAt }) => <time title={exactTime(expiresAt)}>{ago(expiresAt)}</time>,
        },
        {
          title: t("more"),
          isUnseen: true,
          class: "numeric",
          cell: (invitation) => (
            <>
              {invitation.status === "pending" && may("create:invitations") && (
                <button type="button" class="plain" onClick={() => void resend(invitation)}>
                  {t("invitation.resend")}
                </button>
              )}
              {invitation.status === "pending" && may("delete:invitations") && (
                <button type="button" class="plain quiet-danger" onClick={() => void revoke(invitation)}>
                  {t("invitation.revoke")}
                </button>
              )}
            </>
          ),
        },
      ]}
    />
  );
}

/** One address or many: each on a line of its own, all with the same roles, all or none. */
function Invite({ roles, onClose, done }: { roles: Role[]; onClose: () => void; done: () => Promise<void> }) {
  const [text, setText] = useState("");
  const [chosen, choose] = useState<string[]>(mayGive(roles, "Member") ? ["Member"] : []);
  const emails = text.split(/[\s,;]+/).filter(Boolean);
  async function send(): Promise<void> {
    const items = emails.map((email) => ({ email, roles: chosen }));
    if (items.length === 1) await call("POST", "/api/invitations", { json: items[0] });
    else await call("POST", "/api/invitations/batch", { json: { items } });
  }
  return (
    <FormDialog
      title={t("invitations.add")}
      submit={t("invitations.add")}
      onClose={onClose}
      isReady={emails.length > 0}
      send={send}
      done={() => (toast(t("invitation.sent")), done())}
    >
      {(sending) => (
        <>
          <Emails text={text} change={setText} emails={emails} sending={sending} />
          <RolePicker roles={roles} chosen={chosen} change={choose} />
        </>
      )}
    </FormDialog>
  );
}

interface EmailsProps {
  text: string;
  change: (text: string) => void;
  /** The addresses in the text, in the order in which they are sent. */
  emails: string[];
  sending: Sending;
}

/** The field of all addresses, with what is wrong with each of them. */
function Emails({ text, change, emails, sending }: EmailsProps) {
  const id = useId();
  // before anything is sent, so that the summary leaves them to this field
  for (const name of ["email", ...emails.map((_, n) => `items[${n}].email`)]) sending.shown.add(name);
  const wrong: string[] = [];
  for (const [field, message] of Object.entries(sending.problems)) {
    const place = field === "email" ? "0" : /^items\[(\d+)\]\.email$/.exec(field)?.[1];
    if (place === undefined) continue;
    wrong.push(`${emails[Number(place)] ?? ""}: ${message}`);
  }
  return (
    <div class="field">
      <label for={id}>{t("invitations.emails")}</label>
      <textarea
        id={id}
        dir="ltr"
        rows={3}
        value={text}
        aria-invalid={wrong.length > 0}
        aria-describedby={wrong.length ? `${id}-problem` : undefined}
        onInput={(event) => change(event.currentTarget.value)}
      />
      {wrong.length > 0 && (
        <span class="problem" id={`${id}-problem`}>
          {wrong.join(" ")}
        </span>
      )}
    </div>
  );
}

/** Invitations to the caller's own address, in the account; the API refuses them while the address is not proved. */
export function MyInvitations({ joined }: { joined: () => Promise<void> }) {
  const loaded = useLoaded(async () => (await call<ReceivedInvitation[]>("GET", "/api/auth/invitations")).data, []);
  const accept = ({ id, tenant }: ReceivedInvitation) =>
    attempt(async () => {
      await call("POST", `/api/auth/invitations/${id}/accept`);
      toast(t("invitation.joined", { name: tenant.name }));
      await loaded.reload();
      await joined();
    });
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
