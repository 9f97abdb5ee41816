import common from "../../../../../domain/words/en/common.json";
import pages from "../../../../../domain/words/en/pages.json";
import { start } from "./start";

void start("en", { ...common, ...pages }, null);
