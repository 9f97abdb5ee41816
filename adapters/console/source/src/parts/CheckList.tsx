// Names to tick. Where there are many they are searched, and those that were ticked come first.
import { useId, useState } from "preact/hooks";
import { t } from "../words/words";
import { Find } from "./Table";

interface CheckListProps {
  legend: string;
  all: string[];
  chosen: string[];
  change: (chosen: string[]) => void;
  /** Whether a name can be neither chosen nor left out. */
  isFixed?: (name: string) => boolean;
  hint?: string;
}

/** Names that are looked through at a glance; of more than these, some are shown. */
const FEW = 24;

export function CheckList({ legend, all, chosen, change, isFixed, hint }: CheckListProps) {
  const id = useId();
  const [text, setText] = useState("");
  // what is ticked later stays where it is
  const [first] = useState(chosen);
  const names = [...new Set([...first, ...all, ...chosen])];
  const found = names.filter((name) => name.toLowerCase().includes(text.trim().toLowerCase()));
  const isLong = names.length > FEW;
  // with few names the order is that of the list
  const shown = isLong ? found.slice(0, Math.max(FEW, text ? 0 : first.length)) : [...new Set([...all, ...chosen])];
  return (
    <fieldset class="radios" aria-describedby={hint && id}>
      <legend>{legend}</legend>
      {isLong && <Find value={text} change={setText} />}
      {shown.map((name) => (
        <label class="check" key={name}>
          <input
            type="checkbox"
            checked={chosen.includes(name)}
            disabled={isFixed?.(name)}
            onChange={() =>
              change(chosen.includes(name) ? chosen.filter((other) => other !== name) : [...chosen, name])
            }
          />
          <bdi>{name}</bdi>
        </label>
      ))}
      {isLong && (
        <span class="hint small" role="status">
          {t("shown.of", { shown: shown.length, count: found.length })} · {t("chosen.count", { count: chosen.length })}
        </span>
      )}
      {hint && (
        <span class="hint small" id={id}>
          {hint}
        </span>
      )}
    </fieldset>
  );
}
