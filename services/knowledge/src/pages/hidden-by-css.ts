/** Only this much of a page's style sheets is read, in UTF-16 code units. */
const maxLength = 500_000;

export interface HiddenByCss {
  /**
   * Reports whether a rule hides elements with these attributes. False if another rule shows them in some state, as in an accordion or a
   * menu.
   */
  hides(attribs: { class?: string; id?: string }): boolean;
}

/** Finds elements that style sheets hide. Considers only rules whose selectors consist of classes and ids; the page is not laid out. */
export function hiddenByCss(styleSheets: string[]): HiddenByCss {
  const hidden: string[][] = [];
  const shown = new Set<string>();
  for (const { selectors, body } of rulesOf(styleSheets.join('\n').slice(0, maxLength))) {
    const display = displayOf(body);
    if (display === undefined) continue;
    for (const selector of selectors.split(',')) {
      const last =
        selector
          .trim()
          .split(/[\s>+~]+/u)
          .at(-1) ?? '';
      const names = last.match(/[.#][\w-]+/gu) ?? [];
      if (display === 'shown') for (const name of names) shown.add(name);
      else if (names.length > 0 && /^(?:[.#][\w-]+)+$/u.test(selector.trim())) hidden.push(names);
    }
  }
  const firsts = new Map<string, string[][]>();
  for (const names of hidden) {
    const [first = ''] = names;
    if (!names.some((name) => shown.has(name))) firsts.set(first, [...(firsts.get(first) ?? []), names].slice(-20));
  }
  return {
    hides({ class: classes = '', id }) {
      if (firsts.size === 0) return false;
      const own = new Set(classes.split(/\s+/u).map((name) => `.${name}`));
      if (id) own.add(`#${id}`);
      return [...own].some((name) => firsts.get(name)?.some((names) => names.every((each) => own.has(each))));
    },
  };
}

function displayOf(body: string): 'hidden' | 'shown' | undefined {
  const values = [...body.matchAll(/(?:^|[;\s])(?:display|visibility)\s*:\s*([a-z-]+)/giu)].map(([, value]) =>
    value?.toLowerCase(),
  );
  if (values.length === 0) return undefined;
  return values.includes('none') || values.includes('hidden') ? 'hidden' : 'shown';
}

/** Yields the rules that apply to screens of every size. Rules for small screens and for print are skipped. */
function* rulesOf(css: string): Generator<{ selectors: string; body: string }> {
  const text = css.replaceAll(/\/\*[\s\S]*?(?:\*\/|$)/gu, ' ');
  for (let at = 0; at < text.length; ) {
    const open = text.indexOf('{', at);
    if (open < 0) return;
    const before = text.slice(at, open);
    const head = before
      .slice(before.lastIndexOf(';') + 1)
      .replaceAll('}', ' ')
      .trim();
    if (head.startsWith('@')) {
      at = /^@(?:layer|supports|media\s+(?:all|screen)\s*$)/iu.test(head) ? open + 1 : endOfBlock(text, open);
      continue;
    }
    const close = text.indexOf('}', open);
    if (close < 0) return;
    yield { selectors: head, body: text.slice(open + 1, close) };
    at = close + 1;
  }
}

function endOfBlock(text: string, open: number): number {
  let depth = 0;
  for (let at = open; at < text.length; at += 1) {
    if (text[at] === '{') depth += 1;
    else if (text[at] === '}') depth -= 1;
    if (depth === 0) return at + 1;
  }
  return text.length;
}
