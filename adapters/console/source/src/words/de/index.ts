import pageAnswers from "../../../../../../domain/words/de/answers.json";
import common from "../../../../../../domain/words/de/common.json";
import consoleAnswers from "../../../../../../domain/words/de/console-answers.json";
import administration from "./administration.json";
import events from "./events.json";
import rows from "./rows.json";

export const answers = { ...pageAnswers, ...consoleAnswers };
export default { ...common, ...rows, ...administration, ...events };
