// What a tenant asks of logins into it: second factors, and how long sessions last.
import { useState } from "preact/hooks";
import { call } from "../api/api";
import type { OwnSettings } from "../api/types";
import { Submit } from "../parts/Button";
import { Summary, useTexts } from "../parts/Fields";
import { toast } from "../parts/Toast";
import { useUnsaved } from "../parts/unsaved";
import { may } from "../session/session";
import { t, time } from "../words/words";
import { SETTINGS } from "./identity";

const METHODS = ["passkey", "totp", "recovery"] as const;
const NAMES = { passkey: "passkey", totp: "mfa.app", recovery: "mfa.codes" } as const;

/** A number of days: nothing is what the service does by itself, and no number is sent as it is, to be refused. */
function days(text: string): unknown {
  const typed = text.trim();
  return /^-?\d+$/.test(typed) ? Number(typed) : typed || null;
}

const textsOf = ({ security }: OwnSettings) => ({
  "security.mfaGraceDays": String(security.mfaGraceDays),
  "security.sessionDays": String(security.sessionDays ?? ""),
  "security.idleDays": String(security.idleDays ?? ""),
});

export function SecurityForm({ of, set }: { of: OwnSettings; set: (settings: OwnSettings) => void }) {
  const { security } = of;
  const [requireMfa, setRequired] = useState(security.requireMfa);
  const [methods, setMethods] = useState<string[]>(security.mfaMethods);
  const mayWrite = may("update:tenant-settings");
  const { texts, sending, field, stored } = useTexts(textsOf(of), mayWrite);
  const isOther = requireMfa !== security.requireMfa || methods.join() !== security.mfaMethods.join();
  useUnsaved(mayWrite && isOther);
  function submit(event: Event): void {
    event.preventDefault();
    const json = {
      security: {
        requireMfa,
        mfaMethods: methods,
        mfaGraceDays: days(texts["security.mfaGraceDays"]) ?? 0,
        sessionDays: days(texts["security.sessionDays"]),
        idleDays: days(texts["security.idleDays"]),
      },
    };
    void sending.run(async () => {
      const { data } = await call<OwnSettings>("PUT", SETTINGS, { json });
      set(data);
      stored(textsOf(data));
      // what was chosen meanwhile stays
      setRequired((now) => (now === requireMfa ? data.security.requireMfa : now));
      setMethods((now) => (now === methods ? data.security.mfaMethods : now));
      toast(t("saved"));
    });
  }
  return (
    <form class="panel" onSubmit={submit} noValidate aria-busy={sending.isBusy}>
      <h2>{t("security")}</h2>
      <Summary sending={sending} />
      <label class="check">
        <input
          type="checkbox"
          class="switch"
          checked={requireMfa}
          disabled={!mayWrite}
          onChange={() => setRequired(!requireMfa)}
        />
        {t("security.mfa")}
      </label>
      {security.requiredSince && (
        <p class="muted small">{t("security.since", { time: time(security.requiredSince) })}</p>
      )}
      {requireMfa && (
        <fieldset class="radios" disabled={!mayWrite}>
          <legend>{t("security.methods")}</legend>
          {METHODS.map((method) => (
            <label class="check" key={method}>
              <input
                type="checkbox"
                checked={methods.length === 0 || methods.includes(method)}
                onChange={() => setMethods(toggled(methods, method))}
              />
              {t(NAMES[method])}
            </label>
          ))}
        </fieldset>
      )}
      <div class="form">
        {requireMfa && field("security.mfaGraceDays", t("security.grace"), { hint: t("security.grace.hint") })}
        {field("security.sessionDays", t("security.session"), { hint: t("security.days.hint") })}
        {field("security.idleDays", t("security.idle"), { hint: t("security.days.hint") })}
      </div>
      {mayWrite && (
        <>
          <p class="muted small">{t("security.stale")}</p>
          <p>
            <Submit isResting={sending.isBusy}>{t("security.save")}</Submit>
          </p>
        </>
      )}
    </form>
  );
}

/** No method stands for all of them, in the API as well: with the last tick gone, every one counts. */
function toggled(methods: string[], method: string): string[] {
  const before = methods.length ? methods : [...METHODS];
  const next = before.includes(method) ? before.filter((other) => other !== method) : [...before, method];
  return next.length === METHODS.length ? [] : next;
}
