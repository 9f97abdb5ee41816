import common from "../../../../../domain/words/en/common.json";
import pages from "../../../../../domain/words/en/pages.json";
import errors from "../words/en/errors.json";
import { start } from "./start";

void start("en", { ...common, ...pages, ...errors }, null);
