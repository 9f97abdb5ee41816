// Who sees a row besides its owner: members with their level, added by name.
import { useState } from "preact/hooks";
import { call } from "../api/api";
import { type Entity, type Field, MEMBERS, type Row } from "../api/meta";
import { Reference } from "../forms/reference";
import { Submit } from "../parts/Button";
import { Dialog } from "../parts/Dialog";
import { Summary, useSending } from "../parts/Fields";
import { Icon } from "../parts/Icon";
import { Ready, useLoaded } from "../parts/States";
import { userId } from "../session/tokens";
import { type Key, t } from "../words/words";

const MEMBER = { name: "userId", kind: "reference", target: MEMBERS } as Field;
interface Share {
  userId: string;
  fullName: string;
  level: string;
}

const LEVELS = ["read", "update"];

interface LevelProps {
  label: string;
  value: string;
  choose: (level: string) => void;
}

const Level = ({ label, value, choose }: LevelProps) => (
  <select aria-label={label} value={value} onChange={(event) => choose(event.currentTarget.value)}>
    {LEVELS.map((level) => (
      <option key={level} value={level}>
        {t(`share.${level}` as Key)}
      </option>
    ))}
  </select>
);

export function Shares({ entity, row, onClose }: { entity: Entity; row: Row; onClose: () => void }) {
  const path = `/api/${entity.plural}/${row.id}/shares`;
  const loaded = useLoaded(async () => (await call<{ items: Share[] }>("GET", path)).data.items, [path]);
  const sending = useSending();
  const [member, setMember] = useState<string | null>(null);
  const [level, setLevel] = useState("read");
  const send = (method: string, userId: string, json?: unknown) =>
    sending.run(async () => {
      try {
        await call(method, `${path}/${encodeURIComponent(userId)}`, { json });
        setMember(null);
      } finally {
        await loaded.reload();
      }
    });
  function add(event: Event): void {
    event.preventDefault();
    if (member) void send("PUT", member, { level });
  }
  return (
    <Dialog title={t("share")} onClose={onClose} isChanged={() => member !== null}>
      <form class="section" onSubmit={add} aria-busy={sending.isBusy}>
        <Summary sending={sending} />
        <div class="field">
          <Reference
            field={MEMBER}
            label={t("share.with")}
            value={member}
            change={setMember}
            without={[userId.value ?? "", ...(loaded.data ?? []).map((share) => share.userId)]}
          />
        </div>
        <div class="beside">
          <Level label={t("share.level")} value={level} choose={setLevel} />
          <Submit isResting={!member || sending.isBusy}>{t("share")}</Submit>
        </div>
      </form>
      <Ready loaded={loaded}>
        {(shares) => (
          <ul class="shares">
            {shares.map(({ userId, fullName, level: given }) => (
              <li class="beside" key={userId}>
                <bdi>{fullName}</bdi>
                <Level
                  label={t("share.level.of", { name: fullName })}
                  value={given}
                  choose={(next) => void send("PUT", userId, { level: next })}
                />
                <button
                  type="button"
                  class="plain square"
                  aria-label={t("links.remove", { name: fullName })}
                  onClick={() => void send("DELETE", userId)}
                >
                  <Icon name="x" />
                </button>
              </li>
            ))}
          </ul>
        )}
      </Ready>
    </Dialog>
  );
}
