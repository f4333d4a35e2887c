import { type PageNode, textOf } from './page-node.ts';

const longest = 10_000;

const mail = /[\p{L}\p{N}._+-]{1,64}(?:@|\s?\((?:at|ät)\)\s?)[\p{L}\p{N}-]{1,63}\.\p{L}/iu;
const telephone =
  /(?:^|[^\d.])(?:\+|00)\d{1,3}[\d ()/.-]{5,20}\d|(?:\btel|phone|telefon|téléphone|teléfono|\bfon|\bfax|mobile?|hotline|whatsapp|call us|contact|kontakt|contacto|电话|電話|전화)[^\d]{0,20}(?!(?:19|20)\d\d\b)\d[\d ()/.-]{3,20}\d|\(\d{2,5}\) ?\d{2,}|\b\d{3}-\d{3}-\d{4}\b/iu;
const days =
  /\b(?:mon|tue|tues|wed|thu|thur|thurs|fri|sat|sun|mo|di|mi|do|fr|sa|so|lun|mar|mer|jeu|ven|sam|dim|mié|jue|vie|sáb|dom)(?:day|nes|nesday|rs|rsday|sday|urday|ntag|enstag|ttwoch|nnerstag|eitag|mstag|nntag|di|ercredi|credi|dredi|edi|anche|es|tes|coles|ves|rnes|ado|ingo)?\b|周[一二三四五六日]|星期|[月火水木金土日]曜|daily|täglich|tous les jours|every day/iu;
const times =
  /\b\d{1,2}(?:[:.h]\d{2})? ?(?:am|pm|a\.m\.|p\.m\.|uhr|h)? ?(?:-|–|—|to|bis|until|till|à|a|至|到|~|〜) ?\d{1,2}(?:[:.h]\d{2})?|\bclosed\b|geschlossen|fermé|cerrado|休/iu;
const hours =
  /opening (?:hours|times)|(?:business|office) hours|öffnungszeiten|sprechzeiten|horaires|horario|营业时间|開館時間|営業時間|영업시간/iu;
const place =
  /\p{L}{2}(?:straße|strasse|str\.|gasse|platz|weg|allee) ?\d|\b\d{1,5} (?:\p{Lu}\p{L}+ ){1,3}(?:Street|St\.|Road|Rd\b|Avenue|Ave\b|Lane|Square|Drive)|\b(?:[Ss]treet|[Rr]oad|[Aa]venue|[Rr]ue|[Cc]alle|[Vv]ia) (?:\p{L}+ )?\d|\b\d{5} \p{Lu}\p{L}|[路街道]\d+号|丁目/u;

/** Reports whether a node contains contact data: an address, a telephone number, opening hours. */
export function holdsContact(node: PageNode): boolean {
  if (node.name === 'address' || /^(?:tel|mailto):/iu.test(node.attribs?.href ?? '')) return true;
  const text = textOf(node).slice(0, longest).replaceAll(/\s+/gu, ' ');
  if (mail.test(text) || telephone.test(text) || place.test(text) || hours.test(text)) return true;
  if (days.test(text) && times.test(text)) return true;
  return node.children?.some((child) => child.name !== undefined && hasContactMark(child)) ?? false;
}

function hasContactMark(root: PageNode): boolean {
  const rest = [root];
  for (let node = rest.pop(); node; node = rest.pop()) {
    if (node.name === 'address' || /^(?:tel|mailto):/iu.test(node.attribs?.href ?? '')) return true;
    for (const child of node.children ?? []) rest.push(child);
  }
  return false;
}
