import { type HiddenByCss, hiddenByCss } from './hidden-by-css.ts';

/** An element or a text of html-to-text's tree. */
export interface PageNode {
  name?: string;
  data?: string;
  attribs?: Record<string, string>;
  children?: PageNode[];
}

/** As deep as the text is taken. */
const maxDepth = 500;

const unseen = new Set([
  'script',
  'style',
  'noscript',
  'template',
  'svg',
  'iframe',
  'object',
  'canvas',
  'select',
  'textarea',
]);
const unseenRoles = new Set(['navigation', 'menu', 'menubar', 'dialog', 'alertdialog', 'search', 'tooltip']);
/** Never a banner or a menu, whatever it is called. */
const content = new Set(['html', 'body', 'main', 'article', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'table']);

const consentNames =
  /(?:^|[\s_-])(?:cookies?|gdpr|ccpa|consent|privacy)[_-]?(?:banner|bar|notice|consent|popup|pop-up|modal|dialog|overlay|message|law|prompt|wall|alert|hint|info|settings|preferences|manager|container|layer|disclaimer|note|box|warning)|onetrust|cybotcookiebot|usercentrics|didomi|truste|cmplz|iubenda|qc-cmp|cky-consent|osano-cm|borlabs|(?:^|\s)(?:cookie-?law|cc-window|cc-banner|eu-cookie|consent)(?:$|\s|-)/iu;
const menuNames =
  /(?:^|[\s_-])(?:nav|navbar|navigation|menu|mega-?menu|submenu|breadcrumbs?|topbar|site-?header|masthead|pagination|pager)(?:$|[\s_-])/iu;
/** Its content is behind a click: everybody can see it. */
const foldedNames = /faq|accordion|collaps|answer|toggle|expand|tab-?(?:pane|panel|content)|spoiler/iu;
const skipNames = /(?:^|[\s_-])skip(?:$|[\s_-]|link|nav|to)/iu;
const skipText =
  /^(?:skip|jump|go) (?:straight )?(?:to|past|over)\b|^skip\b.{0,20}$|^(?:direkt )?zum (?:haupt)?inhalt|^aller (?:directement )?au contenu|^(?:saltar|ir) al contenido|^(?:salta|vai) al contenuto|^(?:ir|pular|saltar) para o conteúdo|^ga naar (?:de )?(?:hoofd)?inhoud|^przejdź do|^跳(?:到|至|转到)|^(?:メイン|本文).*(?:スキップ|移動|へ)|^본문/iu;

/** With more of its text than this in links, a block that is called a menu is one. */
const menuShare = 0.6;
const longestConsent = 4_000;
const longestSkipLink = 60;

interface Sizes {
  text: number;
  links: number;
  /** Whether a main part or an article is in it. */
  holdsMain: boolean;
  /** Or a heading of the first level. */
  holdsContent: boolean;
}

interface Page {
  css: HiddenByCss;
  /** What a button of the page shows and hides. */
  controlled: Set<string>;
  sizes: Map<PageNode, Sizes>;
  /** Of its text. */
  length: number;
}

const nothing: Sizes = { text: 0, links: 0, holdsMain: false, holdsContent: false };

/**
 * Takes out of a page what nobody reads in it: what is hidden, dialogs for cookies, links that skip, menus. Buttons that are questions stay.
 */
export function prunePage(root: PageNode): void {
  const sizes = new Map<PageNode, Sizes>();
  const { text: length } = measure(root, sizes, false, 0);
  const page: Page = { css: hiddenByCss(styleSheets(root)), controlled: controlledIds(root), sizes, length };
  prune(root, page, { isContent: false, isHeading: false }, 0);
}

interface Within {
  /** In the main part or an article. */
  isContent: boolean;
  isHeading: boolean;
}

function prune(node: PageNode, page: Page, within: Within, depth: number): void {
  if (!node.children || depth > maxDepth) return;
  node.children = node.children.filter((child) => !isLeftOut(child, page, within));
  for (const child of node.children) {
    const { name = '', attribs = {} } = child;
    const isQuestion = within.isHeading || 'aria-expanded' in attribs || 'aria-controls' in attribs;
    if (name === 'button' && isQuestion && !('aria-haspopup' in attribs)) child.name = 'div';
    if (name === 'button' && within.isHeading) child.name = 'span';
    prune(
      child,
      page,
      {
        isContent: within.isContent || name === 'main' || name === 'article' || attribs.role === 'main',
        isHeading: within.isHeading || /^(?:h[1-6]|dt|summary)$/u.test(name),
      },
      depth + 1,
    );
  }
}

function isLeftOut(node: PageNode, page: Page, within: Within): boolean {
  const { name = '', attribs } = node;
  if (!attribs || name === 'body' || name === 'html') return false;
  const { text, links, holdsMain, holdsContent } = page.sizes.get(node) ?? nothing;
  const isAside = unseenRoles.has(attribs.role ?? '') || attribs['aria-modal'] === 'true';
  if (isAside && !holdsMain) return true;
  if (isHidden(attribs, page) && !isWholePage(text, page)) return true;
  const names = `${attribs.class ?? ''} ${attribs.id ?? ''}`;
  if (name === 'a') return isSkipLink(node, attribs, names, text);
  if (content.has(name) || holdsContent) return false;
  if (text <= longestConsent && consentNames.test(names)) return true;
  const isMenu = menuNames.test(names) || (name === 'header' && !within.isContent) || attribs.role === 'banner';
  return isMenu && links > menuShare * text;
}

/** A script shows such a page once it has been loaded. */
function isWholePage(text: number, { length }: Page): boolean {
  return text > 1_000 && text > 0.6 * length;
}

function isHidden(attribs: Record<string, string>, { css, controlled }: Page): boolean {
  const { hidden, style = '', class: classes = '', id = '', role } = attribs;
  if (role === 'tabpanel' || controlled.has(id) || foldedNames.test(`${classes} ${id}`)) return false;
  if (hidden !== undefined && hidden !== 'until-found') return true;
  if (attribs['aria-hidden'] === 'true') return true;
  return (
    /(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)\b/iu.test(style.slice(0, 1_000)) || css.hides(attribs)
  );
}

function isSkipLink(link: PageNode, { href = '' }: Record<string, string>, names: string, length: number): boolean {
  if (!href.startsWith('#') || length > longestSkipLink) return false;
  return skipNames.test(names) || skipText.test(textOf(link).trim());
}

function measure(node: PageNode, sizes: Map<PageNode, Sizes>, isLink: boolean, depth: number): Sizes {
  const own: Sizes = { ...nothing };
  if (node.data !== undefined && !node.name) {
    own.text = node.data.trim().length;
    own.links = isLink ? own.text : 0;
    return own;
  }
  if (depth > maxDepth || unseen.has(node.name ?? '')) return own;
  const inLink = isLink || node.name === 'a' || node.name === 'button';
  for (const child of node.children ?? []) {
    const { text, links, holdsMain, holdsContent } = measure(child, sizes, inLink, depth + 1);
    own.text += text;
    own.links += links;
    own.holdsMain ||= holdsMain || child.name === 'main' || child.name === 'article';
    own.holdsContent ||= own.holdsMain || holdsContent || child.name === 'h1';
  }
  sizes.set(node, own);
  return own;
}

function* elementsOf(root: PageNode): Generator<PageNode> {
  const rest = [root];
  for (let node = rest.pop(); node; node = rest.pop()) {
    if (node.name) yield node;
    for (const child of node.children ?? []) rest.push(child);
  }
}

function styleSheets(root: PageNode): string[] {
  const sheets: string[] = [];
  for (const { name, attribs = {}, children = [] } of elementsOf(root)) {
    if (name === 'style' && !/print/iu.test(attribs.media ?? ''))
      sheets.push(children.map(({ data = '' }) => data).join(''));
  }
  return sheets;
}

function controlledIds(root: PageNode): Set<string> {
  const ids = new Set<string>();
  for (const { attribs = {} } of elementsOf(root)) {
    if ('aria-haspopup' in attribs) continue;
    for (const id of attribs['aria-controls']?.split(/\s+/u) ?? []) if (id) ids.add(id);
    const target = attribs['data-bs-target'] ?? attribs['data-target'];
    if (target?.startsWith('#')) ids.add(target.slice(1));
  }
  return ids;
}

/** The text below a node, of which lines end at `br`. */
export function textOf(root: PageNode): string {
  const parts: string[] = [];
  const rest = [root];
  for (let node = rest.pop(); node; node = rest.pop()) {
    if (node.name === 'br') parts.push('\n');
    else if (!node.name) parts.push(node.data ?? '');
    else if (!unseen.has(node.name)) rest.push(...(node.children ?? []).toReversed());
  }
  return parts.join('');
}
