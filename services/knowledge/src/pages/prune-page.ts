import { holdsContact } from './contact-data.ts';
import { type HiddenByCss, hiddenByCss } from './hidden-by-css.ts';
import { type PageNode, textOf, unseen } from './page-node.ts';

/** Content that is nested more deeply than this is read as plain text. */
const maxDepth = 500;

const unseenWhenDeep = new Set([...unseen, 'nav', 'button', 'dialog', 'title']);
const unseenRoles = new Set(['navigation', 'menu', 'menubar', 'dialog', 'alertdialog', 'search', 'tooltip']);
/** Elements that are never removed as a banner or a menu, whatever their names are. */
const content = new Set(['html', 'body', 'main', 'article', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'table']);

const consentNames =
  /(?:^|[\s_-])(?:cookies?|gdpr|ccpa|consent|privacy)[_-]?(?:banner|bar|notice|consent|popup|pop-up|modal|dialog|overlay|message|law|prompt|wall|alert|hint|info|settings|preferences|manager|container|layer|disclaimer|note|box|warning)|(?:^|\s)(?:cookie-?law|cc-window|cc-banner|eu-cookie|consent)(?:$|\s|-)/iu;
/** Class names and ids that only consent-management products use. */
const consentVendors =
  /(?:^|[\s_-])(?:onetrust|cybotcookiebot|usercentrics|didomi|truste(?:$|[\s_-])|cmplz|iubenda|qc-cmp|cky-consent|osano-cm|borlabs)/iu;
const consentAnswers =
  /^(?:i )?(?:accept|agree|allow|reject|decline|refuse|deny|got it|ok(?:ay)?$|understood)|^(?:alle )?(?:akzeptieren|annehmen|zustimmen|ablehnen|einverstanden|verstanden)|^(?:alle|alles|nur) .{0,30}(?:akzeptieren|annehmen|zulassen|ablehnen|erlauben)|^(?:tout )?(?:accepter|refuser)|^j['’]accepte|^(?:aceptar|rechazar|acepto|aceitar|rejeitar|accetta|rifiuta|accetto|accepteren|akkoord|akceptuj)|^(?:全部)?(?:接受|同意|拒绝|拒絕)|^同意する|^동의/iu;
const consentText =
  /\b(?:us(?:e|es|ing)|sets?|stores?|accept(?:ing)?)\b.{0,40}\bcookies\b|\b(?:verwende|benutz|nutz|setz)\p{L}*\b.{0,60}\bcookies\b|\b(?:utili[sz]|usa|usamos|emple)\p{L}*.{0,60}\bcookies\b|使用.{0,20}cookies?|クッキー.{0,20}使用|value your privacy|manage (?:your )?consent/iu;
const menuNames =
  /(?:^|[\s_-])(?:nav|navbar|navigation|menu|mega-?menu|submenu|breadcrumbs?|topbar|site-?header|masthead|pagination|pager)(?:$|[\s_-])/iu;
/** Names of collapsed content, which every visitor can open. */
const foldedNames = /faq|accordion|collaps|answer|toggle|expand|tab-?(?:pane|panel|content)|spoiler/iu;
const skipNames = /(?:^|[\s_-])skip(?:$|[\s_-]|link|nav|to)/iu;
const skipText =
  /^(?:skip|jump|go) (?:straight )?(?:to|past|over)\b|^skip\b.{0,20}$|^(?:direkt )?zum (?:haupt)?inhalt|^aller (?:directement )?au contenu|^(?:saltar|ir) al contenido|^(?:salta|vai) al contenuto|^(?:ir|pular|saltar) para o conteúdo|^ga naar (?:de )?(?:hoofd)?inhoud|^przejdź do|^跳(?:到|至|转到)|^(?:メイン|本文).*(?:スキップ|移動|へ)|^본문/iu;

/** Names that pages use for navigation menus, but not for menus of dishes or for lists of products. */
const navigationNames =
  /(?:^|[\s_-])(?:nav|navbar|navigation|breadcrumbs?|topbar|site-?header|masthead|pagination|pager)(?:$|[\s_-])/iu;
/** A footer inside one of these elements belongs to that element, not to the page. */
const parts = new Set(['article', 'section', 'blockquote', 'figure', 'td', 'li']);

/** A block with the name of a menu is treated as a menu if more than this share of its text is in links. */
const menuShare = 0.6;
const longestConsent = 4_000;
const longestConsentInContent = 1_000;
const longestUnanswered = 500;
const longestAnswer = 40;
const longestContact = 600;
/** There is no warning if less text than this was removed by guess (because of its position and names). In UTF-16 code units. */
const trace = 200;
const longestSkipLink = 60;

interface Sizes {
  text: number;
  links: number;
  /** Whether the node contains a main part or an article. */
  holdsMain: boolean;
  /** Whether the node contains a main part, an article or a first-level heading. */
  holdsContent: boolean;
  /** Whether the node contains a button that accepts or refuses something. */
  asksConsent: boolean;
}

interface Page {
  css: HiddenByCss;
  /** Ids of elements that a button of the page shows and hides. */
  controlled: Set<string>;
  sizes: Map<PageNode, Sizes>;
  /** Length of the page's text, in UTF-16 code units. */
  length: number;
  /** Length of text outside links that was removed because of its position and names, in UTF-16 code units. */
  guessed: number;
}

const nothing: Sizes = { text: 0, links: 0, holdsMain: false, holdsContent: false, asksConsent: false };

/**
 * Removes from a page what readers do not see or need: hidden content, cookie dialogs, skip links, menus, and the page's footer except
 * contact data. Keeps buttons that are questions, as in lists of frequent questions.
 * @returns a sentence about what is missing; none if only a trace is missing
 */
export function prunePage(root: PageNode): string[] {
  const sizes = new Map<PageNode, Sizes>();
  const { text: length } = measure(root, sizes, false, 0);
  const css = hiddenByCss(styleSheets(root));
  const page: Page = { css, controlled: controlledIds(root), sizes, length, guessed: 0 };
  prune(root, page, { isContent: false, isPart: false, isHeading: false }, 0);
  if (page.guessed < trace) return [];
  const count = page.guessed.toLocaleString('en-US');
  return [`${count} characters of notices, menus, dialogs and the footer of the page are left out`];
}

interface Within {
  /** Whether the node is inside the main part or an article. */
  isContent: boolean;
  /** Whether the node is inside a part that may have its own footer. */
  isPart: boolean;
  isHeading: boolean;
}

function prune(node: PageNode, page: Page, within: Within, depth: number): void {
  if (!node.children) return;
  if (depth > maxDepth) {
    node.children = [{ type: 'text', data: plainTextOf(node) }];
    return;
  }
  node.children = node.children.filter((child) => !isLeftOut(child, page, within));
  for (const child of node.children) {
    const { name = '', attribs = {} } = child;
    const isQuestion = within.isHeading || 'aria-expanded' in attribs || 'aria-controls' in attribs;
    if (name === 'button' && isQuestion && !('aria-haspopup' in attribs)) child.name = 'div';
    if (name === 'button' && within.isHeading) child.name = 'span';
    if (name === 'footer' && isOfPage(child, page, within)) keepContacts(child, page, depth + 1);
    prune(
      child,
      page,
      {
        isContent: within.isContent || name === 'main' || name === 'article' || attribs.role === 'main',
        isPart: within.isPart || parts.has(name),
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
  if (isAside && !holdsMain && !(within.isContent && attribs.role === 'tooltip')) {
    if (within.isContent && attribs.role !== 'navigation') page.guessed += text - links;
    return true;
  }
  if (isHidden(attribs, page) && !isWholePage(text, page)) return true;
  const names = `${attribs.class ?? ''} ${attribs.id ?? ''}`;
  if (name === 'a') return isSkipLink(node, attribs, names, text);
  if (content.has(name) || holdsContent) return false;
  const isGuess = isConsent(node, names, page, within) || (links > menuShare * text && isMenu(node, names, within));
  if (!isGuess && !(name === 'footer' && isOfPage(node, page, within) && !holdsContact(node))) return false;
  if (within.isContent || !isPlainConsent(node, names)) page.guessed += text - links;
  return true;
}

/**
 * Reports whether a block asks for consent to cookies. A name is not enough, because pages may be about baked cookies or about consent to
 * surgery.
 */
function isConsent(node: PageNode, names: string, page: Page, within: Within): boolean {
  const isVendor = consentVendors.test(names);
  if (!isVendor && !consentNames.test(names)) return false;
  const { text, asksConsent } = page.sizes.get(node) ?? nothing;
  const { role = '', style = '' } = node.attribs ?? {};
  const isFixed = /(?:^|;)\s*position\s*:\s*(?:fixed|sticky)/iu.test(style.slice(0, 1_000));
  const behaves = asksConsent || isFixed || role === 'dialog' || role === 'alertdialog';
  if (within.isContent) return behaves && text <= longestConsentInContent;
  if (text > longestConsent) return false;
  return isVendor || behaves || (text <= longestUnanswered && consentText.test(textOf(node)));
}

function isPlainConsent(node: PageNode, names: string): boolean {
  return consentVendors.test(names) || (consentNames.test(names) && consentText.test(textOf(node)));
}

function isMenu({ name, attribs = {} }: PageNode, names: string, within: Within): boolean {
  if (within.isContent) return navigationNames.test(names);
  return menuNames.test(names) || name === 'header' || attribs.role === 'banner';
}

/**
 * Reports whether a footer belongs to the page: it is below the main part, or it is inside the main part and most of its text is in links.
 */
function isOfPage(footer: PageNode, page: Page, within: Within): boolean {
  const { text, links } = page.sizes.get(footer) ?? nothing;
  return !within.isPart && (!within.isContent || links > menuShare * text);
}

/** Removes from a footer all blocks except those with an address, a telephone number or opening hours. */
function keepContacts(node: PageNode, page: Page, depth: number): void {
  const { text, links } = page.sizes.get(node) ?? nothing;
  if (depth > maxDepth || node.name === 'address' || (text <= longestContact && links <= menuShare * text)) return;
  const isSplit = node.children?.some(({ name = '' }) => blocks.has(name));
  if (!isSplit) return;
  node.children = (node.children ?? []).filter((child) => {
    if (holdsContact(child)) return true;
    const { text: all, links: linked } = page.sizes.get(child) ?? nothing;
    page.guessed += all - linked;
    return false;
  });
  for (const child of node.children) keepContacts(child, page, depth + 1);
}

const blocks = new Set(['address', 'div', 'dl', 'li', 'ol', 'p', 'section', 'table', 'tbody', 'td', 'tr', 'ul']);

/** Reports whether a hidden element contains the whole page, which a script shows after loading. */
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
    const { text, links, holdsMain, holdsContent, asksConsent } = measure(child, sizes, inLink, depth + 1);
    own.asksConsent ||= asksConsent;
    own.text += text;
    own.links += links;
    own.holdsMain ||= holdsMain || child.name === 'main' || child.name === 'article';
    own.holdsContent ||= own.holdsMain || holdsContent || child.name === 'h1';
  }
  own.asksConsent ||= isConsentAnswer(node, own);
  sizes.set(node, own);
  return own;
}

function isConsentAnswer(node: PageNode, { text }: Sizes): boolean {
  const { name = '', attribs = {} } = node;
  if (name === 'input')
    return /^(?:submit|button)$/iu.test(attribs.type ?? '') && consentAnswers.test(attribs.value ?? '');
  const isButton = name === 'button' || name === 'a' || attribs.role === 'button';
  return isButton && text > 0 && text <= longestAnswer && consentAnswers.test(textOf(node).trim());
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

/** Returns the plain text of content that is nested too deeply to format, without parts that readers do not see. */
function plainTextOf(root: PageNode): string {
  const texts: string[] = [];
  const rest = (root.children ?? []).toReversed();
  for (let node = rest.pop(); node; node = rest.pop()) {
    const { name, data, attribs = {}, children = [] } = node;
    if (!name) texts.push(data ?? '');
    else if (unseenWhenDeep.has(name) || 'hidden' in attribs || attribs['aria-hidden'] === 'true') continue;
    else {
      if (blocks.has(name) || name === 'br') texts.push(' ');
      for (const child of children.toReversed()) rest.push(child);
    }
  }
  return texts.join('');
}
