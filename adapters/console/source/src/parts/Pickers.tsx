// Fields of settings with a list to search in, and of a colour. Browsers show the list and search it by value and name.
import { useId } from "preact/hooks";
import { locale, t } from "../words/words";
import type { TextProps } from "./Fields";
import { TextField } from "./Fields";

type Names = [code: string, name: string][];

/** A text with a list of known values. What is not in the list is refused by the service, at the field. */
export function ListField({ names, ...props }: TextProps & { names: Names }) {
  const id = useId();
  const known = names.find(([code]) => code.toLowerCase() === props.value.trim().toLowerCase());
  return (
    <div>
      <TextField {...props} list={id} hint={known && known[1] !== known[0] ? known[1] : props.hint} />
      <datalist id={id}>
        {names.map(([code, name]) => (
          <option key={code} value={code}>
            {name}
          </option>
        ))}
      </datalist>
    </div>
  );
}

/** A colour as a text, which may be empty, and the browser's picker beside it. */
export function ColorField(props: TextProps) {
  const picker = (
    <input
      type="color"
      aria-label={t("color.pick", { name: props.label })}
      disabled={props.disabled}
      value={/^#[0-9a-f]{6}$/i.test(props.value) ? props.value : "#ffffff"}
      onInput={(event) => props.change(event.currentTarget.value)}
    />
  );
  return <TextField {...props} more={picker} />;
}

const LANGUAGES =
  "ar bg ca cs da de de-AT de-CH el en en-GB en-US es es-MX et fi fr fr-CA fr-CH he hi hr hu id it ja ko lt lv ms nb nl " +
  "nl-BE pl pt pt-BR ro ru sk sl sr sv th tr uk vi zh-Hans zh-Hant";

const namesOf = (codes: readonly string[], type: "language" | "currency"): Names => {
  const names = new Intl.DisplayNames([locale.value], { type });
  return codes.map((code) => [code, names.of(code) ?? code]);
};

export const languages = (): Names => namesOf(LANGUAGES.split(" "), "language");
export const currencies = (): Names => namesOf(Intl.supportedValuesOf("currency"), "currency");

/** Time zones with what their clocks show now, as `GMT+01:00`. */
export function timeZones(): Names {
  const now = new Date();
  return ["UTC", ...Intl.supportedValuesOf("timeZone")].map((zone) => {
    const parts = new Intl.DateTimeFormat(locale.value, { timeZone: zone, timeZoneName: "longOffset" }).formatToParts(
      now,
    );
    return [zone, parts.find(({ type }) => type === "timeZoneName")?.value ?? zone];
  });
}
