// The secret of a new authenticator app: as a code to scan, and as text to type.
import type { Begun as BegunFactor } from "../api/types";
import { t } from "../words/words";

export type Begun = Required<Pick<BegunFactor, "state" | "secret" | "qrSvg">>;

/** An image has to name its language; the markup of the API, which is for a place inside a page, need not. */
const imageOf = (svg: string) =>
  `data:image/svg+xml,${encodeURIComponent(svg.replace(/^<svg(?![^>]*xmlns)/, '<svg xmlns="http://www.w3.org/2000/svg"'))}`;

export const Scan = ({ begun }: { begun: Begun }) => (
  <>
    <p>{t("mfa.scan")}</p>
    <img class="qr" alt={t("mfa.qr")} src={imageOf(begun.qrSvg)} />
    <pre dir="ltr">{begun.secret}</pre>
  </>
);
