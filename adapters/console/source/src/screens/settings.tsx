// Settings of the caller's tenant: its own administrators change language, currency and branding; a super-admin the rest.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { call } from "../api/api";
import { mayArea } from "../api/meta";
import type { OwnSettings, Tenant } from "../api/types";
import { Submit } from "../parts/Button";
import { Summary, useTexts } from "../parts/Fields";
import { ColorField, currencies, ListField, languages, timeZones } from "../parts/Pickers";
import { Ready, useLoaded } from "../parts/States";
import { Head } from "../parts/Title";
import { toast } from "../parts/Toast";
import { may, profile, tenant } from "../session/session";
import { applyAccent } from "../session/theme";
import { t } from "../words/words";
import { SETTINGS } from "./identity";
import { Domains } from "./joining";
import { leave, Ownership } from "./ownership";
import { SecurityForm } from "./security";
import { TenantForm } from "./tenants";

export function TenantSettings() {
  const mine = tenant.value;
  if (!mine) return null;
  return (
    <>
      <Head title={t("settings")} />
      {(mayArea("tenants") || !may("read:tenant-settings")) && (
        <TenantForm
          key={mine.id}
          of={mine}
          set={(next) => (tenant.value = next)}
          isBeside={may("read:tenant-settings")}
        />
      )}
      {may("read:tenant-settings") ? (
        <Own>
          <Further mine={mine} />
        </Own>
      ) : (
        <Further mine={mine} />
      )}
    </>
  );
}

const Further = ({ mine }: { mine: Tenant }) => (
  <>
    {may("update:tenant-settings") && <Domains />}
    {may("read:users") ? (
      <Ownership name={mine.name} />
    ) : (
      profile.value?.tenants.some((other) => other.id === mine.id) && (
        <p>
          <button type="button" class="quiet-danger" onClick={() => void leave(mine.name)}>
            {t("tenant.leave")}
          </button>
        </p>
      )
    )}
  </>
);

/** What follows the forms comes with them: it would move when they are there. */
function Own({ children }: { children: ComponentChildren }) {
  const loaded = useLoaded(async () => (await call<OwnSettings>("GET", SETTINGS)).data, []);
  return (
    <Ready loaded={loaded}>
      {(settings) => (
        <>
          {/* each form shows its own part as it was read or stored by itself */}
          <OwnForm of={settings} set={(next) => loaded.set({ ...next, security: settings.security })} />
          <SecurityForm of={settings} set={loaded.set} />
          {children}
        </>
      )}
    </Ready>
  );
}

const textsOf = ({ timezone, language, currency, branding }: OwnSettings) => ({
  timezone,
  language,
  currency,
  "branding.name": branding.name ?? "",
  "branding.logoUrl": branding.logoUrl ?? "",
  "branding.primaryColor": branding.primaryColor ?? "",
  "branding.supportEmail": branding.supportEmail ?? "",
});

function OwnForm({ of, set }: { of: OwnSettings; set: (settings: OwnSettings) => void }) {
  const mayWrite = may("update:tenant-settings");
  const { texts, sending, field, props, stored } = useTexts(textsOf(of), mayWrite);
  const [lists] = useState(() => ({ zones: timeZones(), languages: languages(), currencies: currencies() }));
  function submit(event: Event): void {
    event.preventDefault();
    const { timezone, language, currency, ...brand } = texts;
    const sent = Object.fromEntries(Object.entries(brand).map(([key, value]) => [key.split(".")[1], value || null]));
    void sending.run(async () => {
      const { data } = await call<OwnSettings>("PUT", SETTINGS, {
        json: { timezone, language, currency, branding: sent },
      });
      set(data);
      stored(textsOf(data));
      applyAccent(data.branding.primaryColor);
      toast(t("saved"));
    });
  }
  return (
    <form class="panel" onSubmit={submit} noValidate aria-busy={sending.isBusy}>
      <Summary sending={sending} />
      <div class="form">
        <ListField {...props("timezone", t("tenant.timezone"))} names={lists.zones} hint={t("tenant.timezone.hint")} />
        <ListField {...props("language", t("tenant.language"))} names={lists.languages} />
        <ListField {...props("currency", t("tenant.currency"))} names={lists.currencies} />
      </div>
      <h2>{t("tenant.brand")}</h2>
      <div class="form">
        {field("branding.name", t("tenant.brand.name"))}
        <ColorField {...props("branding.primaryColor", t("tenant.brand.color"))} hint={t("tenant.brand.color.hint")} />
        {field("branding.logoUrl", t("tenant.brand.logo"), { type: "url" })}
        {field("branding.supportEmail", t("tenant.brand.support"), { type: "email" })}
      </div>
      {mayWrite && (
        <p>
          <Submit isResting={sending.isBusy}>{t("save")}</Submit>
        </p>
      )}
    </form>
  );
}
