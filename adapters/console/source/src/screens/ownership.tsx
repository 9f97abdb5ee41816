// Owners of the caller's tenant: who they are, passing the tenant on, and leaving it.
import { useState } from "preact/hooks";
import { call } from "../api/api";
import type { MemberItem, UserItem } from "../api/types";
import { ask } from "../parts/Dialog";
import { FormDialog } from "../parts/FormDialog";
import { Icon } from "../parts/Icon";
import { Ready, useLoaded } from "../parts/States";
import { Pick, SearchBox, usePaged } from "../parts/Table";
import { attempt, toast } from "../parts/Toast";
import { href } from "../session/routes";
import { logout, may, profile } from "../session/session";
import { tenantId, userId } from "../session/tokens";
import { t } from "../words/words";

export async function leave(name: string): Promise<void> {
  if (!(await ask(t("tenant.leave.title", { name }), t("tenant.leave.text"), t("tenant.leave")))) return;
  if (await attempt(() => call("POST", "/api/tenants/current/leave"))) await attempt(logout);
}

const PAGES = 20;

/** Owners among the oldest members: the API lists no owners apart, and who made a tenant came first. */
async function owners(): Promise<MemberItem[]> {
  const found: MemberItem[] = [];
  for (let page = 1; page <= PAGES; page++) {
    const query = { page: String(page), pageSize: "100", sortBy: "createdAt", sortDirection: "asc" };
    const path = `/api/tenants/${tenantId.value}/users`;
    const { data } = await call<{ items: MemberItem[]; totalPages: number }>("GET", path, { query });
    found.push(...data.items.filter((member) => member.isOwner));
    if (page >= data.totalPages) break;
  }
  return found;
}

export function Ownership({ name }: { name: string }) {
  const loaded = useLoaded(owners, []);
  const [isPassing, setPassing] = useState(false);
  const isMember = profile.value?.tenants.some((other) => other.id === tenantId.value);
  return (
    <section class="panel">
      <h2>{t("owners")}</h2>
      <Ready loaded={loaded}>
        {(found) => (
          <>
            {found.length === 0 && <p class="muted">{t("owners.none")}</p>}
            <ul class="sessions">
              {found.map((owner) => (
                <li class="session" key={owner.id}>
                  <Icon name="crown" class="muted" />
                  <a class="what" href={href("people", owner.id)}>
                    <bdi>{owner.fullName || owner.email}</bdi>
                  </a>
                </li>
              ))}
            </ul>
            <div class="buttons">
              {found.some((owner) => owner.id === userId.value) && (
                <button type="button" onClick={() => setPassing(true)}>
                  {t("owners.pass")}
                </button>
              )}
              {isMember && (
                <button type="button" class="quiet-danger" onClick={() => void leave(name)}>
                  {t("tenant.leave")}
                </button>
              )}
            </div>
          </>
        )}
      </Ready>
      {isPassing && <PassOn name={name} onClose={() => setPassing(false)} done={loaded.reload} />}
    </section>
  );
}

function PassOn({ name, onClose, done }: { name: string; onClose: () => void; done: () => Promise<void> }) {
  const [search, setSearch] = useState("");
  const [chosen, choose] = useState("");
  const list = usePaged<UserItem>("/api/users", { search, isActive: "true", sortBy: "fullName", sortDirection: "asc" });
  const others = (list.data?.items ?? []).filter((user) => user.id !== userId.value);
  const options = others.map((user): [string, string] => [user.id, `${user.fullName} (${user.email})`]);
  // what was chosen before another search is not chosen any more
  const userIdOfNext = others.some((user) => user.id === chosen) ? chosen : "";
  return (
    <FormDialog
      title={t("owners.pass.title", { name })}
      submit={t("owners.pass")}
      onClose={onClose}
      isReady={!!userIdOfNext}
      send={() => call("POST", "/api/tenants/current/transfer", { json: { userId: userIdOfNext } })}
      done={() => (toast(t("owners.passed")), done())}
    >
      {() => (
        <>
          <p>{t("owners.pass.text")}</p>
          {may("read:users") && <SearchBox search={setSearch} placeholder={t("members.search")} />}
          <Pick
            label={t("owners.new")}
            isField
            value={userIdOfNext}
            choose={choose}
            options={[["", t("owners.choose")], ...options]}
          />
        </>
      )}
    </FormDialog>
  );
}
