// The icon of a field's kind, as the headers of a grid and the tabs of a row show it.
import { type Field, MEMBERS } from "../api/meta";

const ICONS: Partial<Record<string, string>> = {
  integer: "hash",
  bigInteger: "hash",
  decimal: "hash",
  float: "hash",
  boolean: "toggle-left",
  timestamp: "calendar-clock",
  date: "calendar",
  choice: "circle-dot",
  reference: "link",
  links: "link",
  tenant: "building-2",
  uuid: "fingerprint",
  uuids: "fingerprint",
  texts: "tags",
  attachment: "paperclip",
  attachments: "paperclip",
};
const WIDGETS: Partial<Record<string, string>> = {
  multiline: "text-align-start",
  color: "palette",
  url: "external-link",
};
/** Fields of the service that hold a user's id. */
export const PEOPLE = /^(createdBy|updatedBy|deletedBy|actorId)$/;

export function kindIcon(field: Field): string {
  if (field.target === MEMBERS || PEOPLE.test(field.name)) return "user";
  return WIDGETS[field.widget ?? ""] ?? ICONS[field.kind] ?? "type";
}
