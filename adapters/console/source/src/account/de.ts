import answers from "../../../../../domain/words/de/answers.json";
import common from "../../../../../domain/words/de/common.json";
import pages from "../../../../../domain/words/de/pages.json";
import { start } from "./start";

void start("de", { ...common, ...pages }, answers);
