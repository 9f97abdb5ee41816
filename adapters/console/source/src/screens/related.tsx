// Rows of other entities that refer to a row: by a relation that was declared, or by a reference without one.
import { useEffect, useMemo, useState } from "preact/hooks";
import { type Entity, entityOf, MEMBERS, meta, type Relation, type Row } from "../api/meta";
import { titleOf } from "../grid/cells";
import { Grid } from "../grid/Grid";
import { Pages } from "../grid/pages";
import { askedOf, readView, type View } from "../grid/view";
import { Icon } from "../parts/Icon";
import { Notice } from "../parts/States";
import { href } from "../session/routes";
import { t } from "../words/words";

/** Relations to many rows: the declared ones, and those that follow from references of other entities. */
export function relatedOf(entity: Entity): Relation[] {
  // the rows that this one links to are in its form
  const links = entity.fields.map((field) => field.kind === "links" && field.relation);
  const declared = entity.relations.filter(
    ({ many, name, target }) => many && !links.includes(name) && entityOf(target),
  );
  if (entity.plural === MEMBERS) return declared;
  const isDeclared = (target: string, by: string) =>
    entity.relations.some((relation) => relation.many && relation.target === target && relation.by === by);
  const others = (meta.value?.entities ?? []).flatMap(({ plural, fields }) =>
    fields
      .filter(({ kind, target, name }) => kind === "reference" && target === entity.plural && !isDeclared(plural, name))
      .map(({ name }) => ({ name: `${plural}.${name}`, target: plural, by: name, many: true })),
  );
  return [...declared, ...others];
}

/** The title of the related rows; of two references of one entity, behind that of the reference. */
export function relationTitle(relation: Relation, all: Relation[]): string {
  const target = entityOf(relation.target);
  const title = target?.title ?? relation.name;
  const by = target?.fields.find(({ name }) => name === relation.by);
  const isOnly = all.filter((other) => other.target === relation.target).length === 1;
  return isOnly || !by ? title : `${title} · ${titleOf(by)}`;
}

export function Related({ relation, row }: { relation: Relation; row: Row }) {
  const entity = entityOf(relation.target)!;
  const [view, setView] = useState<View>(() => {
    const whole = readView(entity, new URLSearchParams());
    return { ...whole, columns: whole.columns.filter((name) => name !== relation.by) };
  });
  const asked = askedOf(entity, view);
  const pages = useMemo(() => new Pages(entity, view, [[relation.by, row.id]]), [entity, asked, row.id]);
  useEffect(() => () => pages.close(), [pages]);
  const add = `${href("rows", entity.plural, "new")}?${new URLSearchParams({ [relation.by]: row.id })}`;
  return (
    <>
      <div class="tools">
        <a class="button" href={`${href("rows", entity.plural)}?${new URLSearchParams({ [relation.by]: row.id })}`}>
          {t("related.all")}
        </a>
        {entity.may.create && row.isDeleted !== true && (
          <a class="button" href={add}>
            <Icon name="plus" />
            {t("row.new")}
          </a>
        )}
      </div>
      <Grid
        pages={pages}
        view={view}
        isShort
        onLayout={(layout) => setView({ ...view, ...layout })}
        onSort={(sort) => setView({ ...view, sort })}
        empty={<Notice icon="inbox" title={t("related.none")} />}
      />
    </>
  );
}
