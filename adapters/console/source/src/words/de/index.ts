import texts from "words:de";
import pageAnswers from "../../../../../../domain/words/de/answers.json";
import consoleAnswers from "../../../../../../domain/words/de/console-answers.json";

export const answers = { ...pageAnswers, ...consoleAnswers };
export default texts;
