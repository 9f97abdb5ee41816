// The screens that the caller may open, as the navigation lists them and the palette finds them.
import { mayArea, meta } from "../api/meta";
import { href } from "../session/routes";
import { may } from "../session/session";
import { t } from "../words/words";

export interface Place {
  to: string;
  icon: string;
  label: string;
}

export interface PlaceGroup {
  title: string;
  places: Place[];
}

/** Entities of the service that have screens of their own. */
const OWN = new Set(["audit-events", "applications", "members"]);

/** Entities whose rows are the tenant's data, in the order of the service. */
export const dataEntities = () => (meta.value?.entities ?? []).filter((entity) => !OWN.has(entity.plural));

/** Groups without a place are left out. */
export function places(): PlaceGroup[] {
  const at = (isOpen: boolean, icon: string, label: string, ...steps: string[]): Place[] =>
    isOpen ? [{ to: href(...steps), icon, label }] : [];
  const hasApplications = meta.value?.entities.some((entity) => entity.plural === "applications") ?? false;
  return [
    { title: "", places: at(true, "house", t("home")) },
    {
      title: t("data"),
      places: dataEntities().flatMap((entity) => at(true, "table-2", entity.title, "rows", entity.plural)),
    },
    {
      title: t("administration"),
      places: [
        ...at(mayArea("members"), "users", t("members"), "people"),
        ...at(mayArea("roles"), "shield", t("roles"), "roles"),
        ...at(may("read:service-accounts"), "key-round", t("keys"), "keys"),
        ...at(mayArea("webhooks"), "webhook", t("webhooks"), "webhooks"),
        ...at(true, "settings", t("settings"), "settings"),
        ...at(mayArea("audit"), "scroll-text", t("audit"), "audit"),
      ],
    },
    {
      title: t("service"),
      places: [
        ...at(mayArea("tenants"), "building-2", t("tenants"), "tenants"),
        ...at(mayArea("tenants") && hasApplications, "app-window", t("applications"), "rows", "applications"),
        ...at(mayArea("system"), "gauge", t("system"), "system"),
      ],
    },
  ].filter((group) => group.places.length > 0);
}
