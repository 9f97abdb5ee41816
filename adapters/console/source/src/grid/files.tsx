// Files in cells: small thumbnails where the field declares them, otherwise names.
import { useEffect, useState } from "preact/hooks";
import type { Entity, Field, Row } from "../api/meta";
import { contentUrl, type StoredFile } from "../api/uploads";

const RESTS = 150; // milliseconds that a row is in sight before its pictures are requested
const WAITS = 700; // milliseconds, longer after each failure
const MOST_TRIES = 7;

/** The path of a file of a row. */
export const filePath = (entity: Entity, id: string, field: Field, file: string) =>
  `/api/${entity.plural}/${id}/${field.relation}${field.kind === "attachments" ? `/${file}` : ""}`;

/** The name of the smallest thumbnail that is at least so wide, otherwise of the widest. */
export function thumbnailOf(field: Field, width: number): string | undefined {
  const sizes = Object.entries(field.rules.thumbnails ?? {}).sort(([, [one]], [, [other]]) => one - other);
  return (sizes.find(([, [wide]]) => wide >= width) ?? sizes.at(-1))?.[0];
}

const IN_CELLS = 56; // pixels: two for each pixel of the page

export function Files({ entity, field, row }: { entity: Entity; field: Field; row: Row }) {
  const held = row[field.relation ?? ""];
  const files = [held].flat().filter(Boolean) as StoredFile[];
  const size = row.isDeleted ? undefined : thumbnailOf(field, IN_CELLS);
  return (
    <span class="cell-files">
      {files.map((file) =>
        size ? (
          <Thumbnail key={file.id} path={filePath(entity, row.id, field, file.id)} file={file} size={size} />
        ) : (
          <bdi key={file.id} class="badge">
            {file.name}
          </bdi>
        ),
      )}
    </span>
  );
}

/** A picture, and the name of a file without one. The service creates few thumbnails at once and refuses further requests
 * until then, so a failed request is repeated. */
function Thumbnail({ path, file, size }: { path: string; file: StoredFile; size: string }) {
  const [url, setUrl] = useState("");
  const [tries, setTries] = useState(0);
  useEffect(() => {
    if (tries > MOST_TRIES) return;
    let isShown = true;
    const timer = setTimeout(
      () =>
        contentUrl(path, { size }).then(
          (found) => isShown && setUrl(found),
          () => isShown && setTries(MOST_TRIES + 1),
        ),
      RESTS + tries * WAITS,
    );
    return () => {
      isShown = false;
      clearTimeout(timer);
    };
  }, [path, file.id, tries]);
  if (tries > MOST_TRIES) return <bdi class="badge">{file.name}</bdi>;
  if (!url)
    return (
      <span class="thumbnail blank">
        <bdi class="unseen">{file.name}</bdi>
      </span>
    );
  const again = () => (setUrl(""), setTries(tries + 1));
  return <img class="thumbnail" src={url} alt={file.name} title={file.name} onError={again} />;
}
