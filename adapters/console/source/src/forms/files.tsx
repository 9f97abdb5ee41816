// Files of a field: a button, a place to drop them, their progress, previews, and an order by dragging and by keys.
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { call, isStopped } from "../api/api";
import { type Entity, type Field, type Row, scope } from "../api/meta";
import { contentUrl, type StoredFile, upload, uploading } from "../api/uploads";
import { filePath, thumbnailOf } from "../grid/files";
import { Icon } from "../parts/Icon";
import { errorText, failed, say } from "../parts/Toast";
import { t } from "../words/words";
import { kindsOf, sizeText } from "./fileWords";

export interface FilesProps {
  entity: Entity;
  /** The row that holds the files; null while it is new. */
  row: Row | null;
  field: Field;
  label: string;
  ids: string[];
  change: (ids: string[]) => void;
  describedBy?: string;
  disabled?: boolean;
}

/** A file, and the address of a picture of one that no row holds yet. */
type Known = StoredFile & { picture?: string };

interface Sending {
  key: number;
  name: string;
  part: number;
  stop: () => void;
}

const SHOWN_INLINE = /^(image\/(png|jpeg|gif|webp)|application\/pdf)$/;
const isPicture = (type: string) => type.startsWith("image/") && SHOWN_INLINE.test(type);
const PREVIEW = 320; // pixels of a thumbnail that is shown in a form
let last = 0;

export default function Files({ entity, row, field, label, ids, change, describedBy, disabled }: FilesProps) {
  const [known, setKnown] = useState<ReadonlyMap<string, Known>>(new Map());
  const [sending, setSending] = useState<Sending[]>([]);
  const [problems, setProblems] = useState<string[]>([]);
  const tell = (text: string) => setProblems((others) => [...others, text]);
  // one after another: they keep the order in which they were chosen, and leave the tenant's other transfers a slot
  const turn = useRef<Promise<void>>(Promise.resolve());
  const [isOver, setOver] = useState(false);
  const id = useId();
  const input = useRef<HTMLInputElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  // uploads end later than the render that began them
  const now = useRef(ids);
  now.current = ids;
  const isMany = field.kind === "attachments";
  const most = field.rules.limit ?? 1;
  // a file belongs to the tenant of its uploader
  const isFixed = disabled || scope.value !== null;
  const isFull = isMany && ids.length + sending.length >= most;

  useHeld(entity, row, field, ids, known, setKnown);
  const stops = useRef(new Set<AbortController>());
  useEffect(() => () => stops.current.forEach((abort) => void abort.abort()), []);

  async function add(chosen: File[]): Promise<void> {
    setProblems([]);
    const room = isMany ? most - ids.length - sending.length : 1;
    if (chosen.length > room) tell(isMany ? t("files.limit", { count: most }) : t("files.one"));
    await Promise.all(chosen.slice(0, Math.max(0, room)).map(send));
  }

  async function send(file: File): Promise<void> {
    if (file.size > (field.rules.maxBytes ?? Number.POSITIVE_INFINITY))
      return tell(`${file.name}: ${t("files.large", { size: sizeText(field.rules.maxBytes ?? 0) })}`);
    const abort = new AbortController();
    const key = ++last;
    stops.current.add(abort);
    uploading.value++;
    setSending((others) => [...others, { key, name: file.name, part: 0, stop: () => abort.abort() }]);
    turn.current = turn.current.then(() => transfer(file, key, abort));
    await turn.current;
  }

  async function transfer(file: File, key: number, abort: AbortController): Promise<void> {
    const progress = (part: number) =>
      setSending((all) => all.map((one) => (one.key === key ? { ...one, part } : one)));
    try {
      const purpose = `${entity.plural}.${field.relation}`;
      const stored = await upload({ file, purpose, progress, signal: abort.signal });
      const picture = isPicture(stored.type) ? URL.createObjectURL(file) : undefined;
      setKnown((before) => new Map([...before, [stored.id, { ...stored, picture }]]));
      now.current = isMany ? [...now.current, stored.id] : [stored.id];
      change(now.current);
      say(t("files.ready", { name: stored.name }));
    } catch (error) {
      if (!isStopped(error)) tell(`${file.name}: ${errorText(error)}`);
    }
    stops.current.delete(abort);
    uploading.value--;
    setSending((all) => all.filter((one) => one.key !== key));
  }

  function remove(place: number): void {
    button.current?.focus();
    change(ids.filter((_, at) => at !== place));
  }

  function move(from: number, to: number): void {
    const moved = [...ids];
    const [taken] = moved.splice(from, 1);
    if (!taken || to < 0 || to >= ids.length || to === from) return;
    moved.splice(to, 0, taken);
    change(moved);
    say(t("files.place", { name: known.get(taken)?.name ?? "", place: to + 1, count: ids.length }));
  }

  const choose = t(ids.length && !isMany ? "files.replace" : isMany ? "files.add" : "files.choose");
  return (
    <>
      <span class="label-like" id={`${id}-label`}>
        <bdi>{label}</bdi>
      </span>
      <div
        class={isOver ? "drop files over" : "drop files"}
        role="group"
        aria-labelledby={`${id}-label`}
        aria-describedby={describedBy}
        onDragOver={(event) => {
          if (isFixed || !event.dataTransfer?.types.includes("Files")) return;
          event.preventDefault();
          setOver(true);
        }}
        onDragLeave={() => setOver(false)}
        onDrop={(event) => {
          setOver(false);
          if (isFixed || !event.dataTransfer?.files.length) return;
          event.preventDefault();
          void add([...event.dataTransfer.files]);
        }}
      >
        {ids.length > 0 && (
          <ul>
            {ids.map((held, place) => (
              <Held
                key={held}
                file={known.get(held) ?? { id: held, name: held.slice(0, 8), type: "", size: 0 }}
                path={row && isHeld(row, field, held) ? filePath(entity, row.id, field, held) : null}
                field={field}
                place={place}
                move={isMany && !isFixed && ids.length > 1 ? move : undefined}
                remove={isFixed ? undefined : remove}
              />
            ))}
          </ul>
        )}
        {sending.map((one) => (
          <div key={one.key} class="row sending">
            <bdi class="grow">{one.name}</bdi>
            <progress aria-label={t("files.sending", { name: one.name })} value={one.part} max={1} />
            <button
              type="button"
              class="plain square"
              aria-label={t("files.stop", { name: one.name })}
              onClick={one.stop}
            >
              <Icon name="x" />
            </button>
          </div>
        ))}
        {!isFixed && (
          <div class="row">
            <button
              type="button"
              ref={button}
              aria-disabled={isFull || undefined}
              aria-label={`${label}: ${choose}`}
              onClick={() => !isFull && input.current?.click()}
            >
              <Icon name="upload" />
              {choose}
            </button>
            <span class="small muted grow">{`${t("files.drop")} ${boundsText(field)}`}</span>
          </div>
        )}
        <input
          ref={input}
          type="file"
          class="unseen"
          tabIndex={-1}
          aria-hidden="true"
          multiple={isMany}
          accept={field.rules.types?.includes("application/octet-stream") ? undefined : field.rules.types?.join()}
          onChange={(event) => {
            const chosen = [...(event.currentTarget.files ?? [])];
            event.currentTarget.value = "";
            void add(chosen);
          }}
        />
        {problems.map((problem) => (
          <p class="problem" role="alert" key={problem}>
            {problem}
          </p>
        ))}
      </div>
    </>
  );
}

/** Reads names and types of the files that the row holds; those of this form's own uploads are known. */
function useHeld(
  entity: Entity,
  row: Row | null,
  field: Field,
  ids: string[],
  known: ReadonlyMap<string, Known>,
  set: (files: (before: ReadonlyMap<string, Known>) => ReadonlyMap<string, Known>) => void,
): void {
  useEffect(() => {
    if (!row || ids.every((held) => known.has(held))) return;
    const query: Record<string, string> = { fields: field.name, include: field.relation ?? "" };
    if (row.isDeleted) query.includeDeleted = "true";
    call<Row>("GET", `/api/${entity.plural}/${row.id}`, { query }).then(({ data }) => {
      const files = [data[field.relation ?? ""]].flat().filter(Boolean) as StoredFile[];
      set((before) => new Map([...files.map((file) => [file.id, file] as const), ...before]));
    }, failed);
  }, [row?.id, ids.join()]);
}

interface HeldProps {
  file: Known;
  /** Where the content is; null of a file that no row holds yet. */
  path: string | null;
  field: Field;
  place: number;
  move?: (from: number, to: number) => void;
  remove?: (place: number) => void;
}

/** Whether the row holds the file, so that its content can be read there. */
const isHeld = (row: Row, field: Field, id: string) => !row.isDeleted && [row[field.name]].flat().includes(id);

const PLACE = "application/x-tenantry-place";

function Held({ file, path, field, place, move, remove }: HeldProps) {
  const [isDragged, setDragged] = useState(false);
  return (
    <li
      class={isDragged ? "row dragged" : "row"}
      draggable={!!move}
      onDragStart={(event) => {
        event.dataTransfer?.setData(PLACE, String(place));
        setDragged(true);
      }}
      onDragEnd={() => setDragged(false)}
      onDragOver={(event) => move && event.dataTransfer?.types.includes(PLACE) && event.preventDefault()}
      onDrop={(event) => {
        const from = event.dataTransfer?.getData(PLACE);
        if (!move || !from) return;
        event.preventDefault();
        move(Number(from), place);
      }}
    >
      {move && (
        <button
          type="button"
          class="plain square grip"
          aria-label={t("files.move", { name: file.name })}
          title={t("files.move.keys")}
          onKeyDown={(event) => {
            const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
            if (!step) return;
            event.preventDefault();
            event.stopPropagation();
            const grip = event.currentTarget;
            move(place, place + step);
            // an element that is moved in the page loses the focus
            requestAnimationFrame(() => grip.focus());
          }}
        >
          <Icon name="grip-vertical" />
        </button>
      )}
      <Preview file={file} path={file.picture ? null : path} field={field} />
      <span class="grow name">
        {path ? (
          <button type="button" class="link" onClick={() => void open(path, file)}>
            <bdi>{file.name}</bdi>
          </button>
        ) : (
          <bdi>{file.name}</bdi>
        )}
        {file.size > 0 && <span class="small muted">{sizeText(file.size)}</span>}
      </span>
      {remove && (
        <button
          type="button"
          class="plain square"
          aria-label={t("links.remove", { name: file.name })}
          onClick={() => remove(place)}
        >
          <Icon name="x" />
        </button>
      )}
    </li>
  );
}

function Preview({ file, path, field }: Pick<HeldProps, "file" | "path" | "field">) {
  const [url, setUrl] = useState(file.picture ?? "");
  useEffect(() => {
    if (file.picture || !path || !isPicture(file.type)) return setUrl(file.picture ?? "");
    let isShown = true;
    contentUrl(path, { size: thumbnailOf(field, PREVIEW) }).then(
      (found) => isShown && setUrl(found),
      () => undefined,
    );
    return () => {
      isShown = false;
    };
  }, [file.id, file.type, path]);
  if (!url) return <Icon name="paperclip" class="muted" />;
  return (
    <img
      class={field.kind === "attachment" ? "preview large" : "preview"}
      src={url}
      alt=""
      onError={() => setUrl("")}
    />
  );
}

/** Shows what browsers show in a tab, and saves everything else. */
async function open(path: string, file: Known): Promise<void> {
  const download = !SHOWN_INLINE.test(file.type);
  // browsers open a tab at a click only
  const tab = download ? null : window.open("", "_blank");
  if (tab) tab.opener = null;
  try {
    const url = await contentUrl(path, { download });
    (tab ?? window).location.assign(url);
  } catch (error) {
    tab?.close();
    failed(error);
  }
}

const boundsText = (field: Field) =>
  [kindsOf(field.rules.types ?? []), t("files.most", { size: sizeText(field.rules.maxBytes ?? 0) })]
    .filter(Boolean)
    .join(", ");
