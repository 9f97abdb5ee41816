declare module "icons:" {
  const shapes: Record<string, [tag: string, attributes: Record<string, string>][]>;
  export default shapes;
}

declare module "words:*" {
  const texts: string[];
  export default texts;
}
