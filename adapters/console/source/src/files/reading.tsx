// How the service reads the texts of a file: what it suggests for one, and what a person chooses.
import type { Suggested } from "../api/types";
import { t } from "../words/words";

/** Options of the import, by their names in the API; those that are missing are the service's own. */
export interface Reading {
  encoding?: string;
  decimal?: string;
  dateFormat?: string;
  headerRow?: number;
}

const ENCODINGS = ["windows-1252", "utf-16"];
const DATES = ["DD.MM.YYYY", "DD/MM/YYYY", "MM/DD/YYYY", "DD-MM-YYYY", "MM-DD-YYYY", "YYYY/MM/DD"];

/** What is certain of the suggestions: of several formats of dates a person has to choose. */
export function suggestedReading({ encoding, decimal, dateFormats, headerRow }: Suggested): Reading {
  return {
    ...(encoding ? { encoding } : {}),
    ...(decimal ? { decimal } : {}),
    ...(dateFormats.length === 1 ? { dateFormat: dateFormats[0] } : {}),
    ...(headerRow ? { headerRow } : {}),
  };
}

interface Props {
  reading: Reading;
  suggested: Suggested | undefined;
  /** `isNew` says that the columns are read again. */
  change: (reading: Reading, isNew: boolean) => void;
}

export function ReadingOptions({ reading, suggested, change }: Props) {
  const { encoding, decimal, dateFormat, headerRow } = reading;
  const dates = suggested?.dateFormats.length ? suggested.dateFormats : DATES;
  return (
    <fieldset class="radios">
      <legend>{t("import.reading")}</legend>
      <Choice
        label={t("import.encoding")}
        value={encoding}
        choices={ENCODINGS}
        usual="utf-8"
        choose={(value) => change(changed(reading, "encoding", value), true)}
      />
      <Choice
        label={t("import.decimal")}
        value={decimal}
        choices={[","]}
        usual="."
        choose={(value) => change(changed(reading, "decimal", value), false)}
      />
      <Choice
        label={t("import.dates")}
        value={dateFormat}
        choices={dates}
        usual="YYYY-MM-DD"
        choose={(value) => change(changed(reading, "dateFormat", value), false)}
      />
      <label class="field pick">
        <span>{t("import.header-row")}</span>
        <input
          type="number"
          min={1}
          max={1000}
          value={headerRow ?? ""}
          onChange={(event) => change(changed(reading, "headerRow", Number(event.currentTarget.value)), true)}
        />
      </label>
    </fieldset>
  );
}

function changed(reading: Reading, name: keyof Reading, value: string | number): Reading {
  const others = Object.fromEntries(Object.entries(reading).filter(([other]) => other !== name));
  return value ? { ...others, [name]: value } : others;
}

interface ChoiceProps {
  label: string;
  value: string | undefined;
  choices: string[];
  /** What the service expects where nothing is chosen. */
  usual: string;
  choose: (value: string) => void;
}

const Choice = ({ label, value, choices, usual, choose }: ChoiceProps) => (
  <label class="field pick">
    <span>{label}</span>
    <select value={value ?? ""} onChange={(event) => choose(event.currentTarget.value)}>
      <option value="">{t("import.usual", { value: usual })}</option>
      {choices.map((choice) => (
        <option key={choice}>{choice}</option>
      ))}
    </select>
  </label>
);
