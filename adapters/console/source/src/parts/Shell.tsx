// The frame around every screen: navigation, the tenant, the bar of a super-admin's other tenant, messages.
import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { ApiError } from "../api/api";
import { EVERY, mayArea, scope } from "../api/meta";
import { Home } from "../screens/home";
import { Login } from "../screens/login";
import { RowsScreen } from "../screens/rows";
import { current, href, mayLeave, parts } from "../session/routes";
import { logout, may, mustChangePassword, profile, resume, state, switchTo, tenant } from "../session/session";
import { isDark, isDense, theme } from "../session/theme";
import { tenantId } from "../session/tokens";
import { t } from "../words/words";
import { Questions } from "./Dialog";
import { Icon } from "./Icon";
import { LiveDot } from "./Live";
import { lazy } from "./lazy";
import { Menu } from "./Menu";
import { Proof } from "./Proof";
import { pageTitle } from "./pageTitle";
import { places } from "./places";
import { Failure, Forbidden, Notice } from "./States";
import { failed, Toasts } from "./Toast";

const admin = () => import("../screens/administration");
const Row = lazy(async () => (await import("../screens/row")).RowScreen);
const Import = lazy(async () => (await import("../files/Import")).ImportScreen);
const Members = lazy(async () => (await admin()).Members);
const Person = lazy(async () => (await admin()).Person);
const ServiceAccounts = lazy(async () => (await admin()).ServiceAccounts);
const ServiceAccountScreen = lazy(async () => (await admin()).ServiceAccountScreen);
const Roles = lazy(async () => (await admin()).Roles);
const Settings = lazy(async () => (await admin()).TenantSettings);
const Tenants = lazy(async () => (await admin()).Tenants);
const TenantScreen = lazy(async () => (await admin()).TenantScreen);
const System = lazy(async () => (await admin()).System);
const Webhooks = lazy(async () => (await admin()).Webhooks);
const WebhookScreen = lazy(async () => (await admin()).WebhookScreen);
const Account = lazy(async () => (await admin()).Account);

const Palette = lazy(async () => (await import("./Palette")).Palette, null);

const isOpen = signal(false);
const isFinding = signal(false);

/** Ctrl+K, or Cmd+K on a Mac, opens the palette unless a dialog is open. */
function onKeyDown(event: KeyboardEvent): void {
  if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
  event.preventDefault();
  if (!document.querySelector("dialog[open]")) isFinding.value = true;
}

function Screen() {
  const [first, plural, step] = parts.value;
  switch (first) {
    case undefined:
      return <Home />;
    case "rows":
      if (plural && step === "import") return <Import plural={plural} />;
      return plural && step ? <Row plural={plural} id={step} /> : <RowsScreen plural={plural ?? ""} />;
    case "people":
      if (!mayArea("members")) return <Forbidden />;
      return plural ? <Person id={plural} /> : <Members />;
    case "keys":
      if (!may("read:service-accounts")) return <Forbidden />;
      return plural ? <ServiceAccountScreen id={plural} /> : <ServiceAccounts />;
    case "webhooks":
      if (!mayArea("webhooks")) return <Forbidden />;
      return plural ? <WebhookScreen id={plural} /> : <Webhooks />;
    case "roles":
      return mayArea("roles") ? <Roles /> : <Forbidden />;
    case "audit":
      return step ? <Row plural="audit-events" id={step} /> : <RowsScreen plural="audit-events" />;
    case "tenants":
      if (!mayArea("tenants")) return <Forbidden />;
      return plural ? <TenantScreen id={plural} /> : <Tenants />;
    case "settings":
      return <Settings />;
    case "system":
      return mayArea("system") ? <System /> : <Forbidden />;
    case "account":
      return <Account />;
    default:
      return <Failure error={new ApiError(404, "NOT_FOUND", "")} isScreen />;
  }
}

export function Shell() {
  const title = pageTitle.value;
  useEffect(() => {
    document.title = title;
  }, [title]);
  const isIn = state.value === "in";
  useEffect(() => {
    if (!isIn) return;
    document.addEventListener("keydown", onKeyDown);
    return () => {
      document.removeEventListener("keydown", onKeyDown);
      isFinding.value = false;
    };
  }, [isIn]);
  if (state.value === "offline")
    return (
      <main class="alone">
        <Notice icon="cloud-off" title={t("offline.title")} text={t("offline.text")}>
          <button type="button" onClick={() => resume().catch(failed)}>
            {t("again")}
          </button>
        </Notice>
        <Toasts />
      </main>
    );
  if (!isIn)
    return (
      <>
        <Login />
        <Toasts />
      </>
    );
  return (
    <div class={isOpen.value ? "shell open" : "shell"}>
      <a class="skip" href="#main" onClick={skip}>
        {t("skip")}
      </a>
      <TopBar />
      <Navigation />
      {/* biome-ignore lint/a11y/noStaticElementInteractions: a click beside the open navigation closes it */}
      <div class="veil" onClick={() => (isOpen.value = false)} />
      <div class="page">
        {scope.value && <ScopeBar name={scope.value.name} />}
        {mustChangePassword.value && (
          <div class="bar warn">
            <Icon name="triangle-alert" />
            <span>{t("password.must")}</span>
            <a href={href("account")}>{t("password.change")}</a>
          </div>
        )}
        <main id="main">
          <Screen key={`${tenantId.value} ${current.value.path} ${scope.value?.id}`} />
        </main>
      </div>
      {isFinding.value && <Palette onClose={() => (isFinding.value = false)} />}
      <Questions />
      <Proof />
      <Toasts />
    </div>
  );
}

function skip(event: Event): void {
  event.preventDefault();
  document.querySelector<HTMLElement>("main h1, main")?.focus();
}

function Navigation() {
  return (
    <nav class="side" aria-label={t("navigation")} id="navigation">
      {places().map((group) => (
        <>
          {group.title && <h2>{group.title}</h2>}
          {group.places.map(({ to, icon, label }) => (
            <NavLink key={to} to={to} icon={icon}>
              <bdi>{label}</bdi>
            </NavLink>
          ))}
        </>
      ))}
      <div class="space" />
      <NavLink to={href("account")} icon="circle-user">
        <bdi>{profile.value?.fullName || t("account")}</bdi>
      </NavLink>
      <button type="button" class="nav" onClick={() => void signOut()}>
        <Icon name="log-out" />
        <span>{t("logout")}</span>
      </button>
    </nav>
  );
}

/** Signs out, unless something that is not saved is to be kept. */
async function signOut(): Promise<void> {
  if (await mayLeave()) await logout().catch(failed);
}

function NavLink({ to, icon, children }: { to: string; icon: string; children: ComponentChildren }) {
  const path = current.value.path;
  const isHere = path === to || (to !== href() && path.startsWith(`${to}/`));
  return (
    <a class="nav" href={to} aria-current={isHere ? "page" : undefined} onClick={() => (isOpen.value = false)}>
      <Icon name={icon} />
      <span>{children}</span>
    </a>
  );
}

function TenantMenu() {
  const others = (profile.value?.tenants ?? []).filter((other) => other.id !== tenant.value?.id);
  const name = tenant.value?.name ?? "Tenantry";
  if (!others.length)
    return (
      <div class="tenant">
        <TenantMark name={name} />
        <bdi>{name}</bdi>
      </div>
    );
  return (
    <Menu class="tenant" label={name} lead={<TenantMark name={name} />}>
      {(close) => (
        <div class="menu">
          <h3>{t("tenant.switch")}</h3>
          {others.map((other) => (
            <button
              type="button"
              key={other.id}
              onClick={() => {
                close();
                switchTo(other.id).catch(failed);
              }}
            >
              <bdi>{other.name}</bdi>
            </button>
          ))}
        </div>
      )}
    </Menu>
  );
}

/** The first letter of the tenant's name, in the colour of its branding. */
const TenantMark = ({ name }: { name: string }) => (
  <span class="mark-of" aria-hidden="true">
    {[...name.trim()][0]?.toLocaleUpperCase()}
  </span>
);

function TopBar() {
  return (
    <header class="top">
      <button
        type="button"
        class="plain square unfold"
        aria-label={t("navigation")}
        aria-expanded={isOpen.value}
        aria-controls="navigation"
        onClick={() => (isOpen.value = !isOpen.value)}
      >
        <Icon name="menu" />
      </button>
      <TenantMenu />
      <button
        type="button"
        class="search"
        aria-keyshortcuts="Control+K Meta+K"
        onClick={() => (isFinding.value = true)}
      >
        <Icon name="search" />
        <span>{t("palette.hint")}</span>
        <kbd>{navigator.platform.startsWith("Mac") ? "⌘K" : "Ctrl K"}</kbd>
      </button>
      <span class="space" />
      <LiveDot />
      <button
        type="button"
        class="plain square density"
        aria-label={t("dense")}
        title={t("dense")}
        aria-pressed={isDense.value}
        onClick={() => (isDense.value = !isDense.value)}
      >
        <Icon name={isDense.value ? "rows-4" : "rows-3"} />
      </button>
      <button
        type="button"
        class="plain square"
        aria-label={t("theme.dark")}
        title={t("theme.dark")}
        aria-pressed={isDark.value}
        onClick={() => (theme.value = isDark.value ? "light" : "dark")}
      >
        <Icon name={isDark.value ? "sun" : "moon"} />
      </button>
    </header>
  );
}

/** Red as long as a super-admin works in another tenant than that of the token. */
function ScopeBar({ name }: { name: string }) {
  return (
    <div class="bar bad" role="status">
      <Icon name="eye" />
      <span>{scope.value?.id === EVERY ? t("scope.all.on") : t("scope.on", { name })}</span>
      <button type="button" onClick={() => (scope.value = null)}>
        {t("scope.off")}
      </button>
    </div>
  );
}
