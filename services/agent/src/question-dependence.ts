import { keywordsOf, wordsOf } from './models/offline-text.ts';

const word = (words: string) => String.raw`(?<![\p{L}\p{M}])(?:${words})(?![\p{L}\p{M}])`;
/** Behind it nothing but signs. */
const end = String.raw`[^\p{L}\p{N}]*$`;

/** What refers to something that was said before. */
const references = [
  // English
  word(
    'its?|this|these|those|they|them|theirs?|he|him|his|she|hers?|former|latter|the same|the others?|else|another|both|neither|mine',
  ),
  word(String.raw`(?:the|that|which|each|\p{L}+(?:st|nd|rd|th|er)) ones?`),
  String.raw`${word('the (?:first|second|third|fourth|fifth|last|next|previous|other)')}${end}`,
  word('(?:of|between) (?:the )?(?:two|three)|in that case|the place|that (?:costs?|means?|works?|includes?)'),
  String.raw`${word('that|there|then')}${end}`,
  // Spanish
  word(
    `él|ella|ellos|ellas|es[aeo]s?|aquel|aquell[ao]s?|ést[aeo]s?|ahí|allí|allá|ambos|ambas|(?:la|el|lo) mism[ao]|suy[ao]s?`,
  ),
  word('est[aeo]s?(?! (?:noche|tarde|mañana|semana|mes|año|verano))'),
  word(
    String.raw`(?:el|la|los|las) (?:primer[ao]?|segund[ao]|tercer[ao]?|últim[ao]|otr[ao]|siguiente|anterior)s?(?= (?:por|de|que|y|o|con|sin)(?![\p{L}])|[^\p{L} ]|$)`,
  ),
  word('l[aoe]s? (?:tengo|puedo|puede|pueden|tienen|tiene|hay|debo|quiero|necesito|reservo|pago|abren|cierran)'),
  String.raw`\p{L}{2,}(?:ar|er|ir|ando|iendo)l[ao]s?(?![\p{L}])`,
  // French
  String.raw`(?<!-)${word('ils?(?! y a)|elles?')}`,
  word(`celui|celles?|ceux|ça|cela|lui|l['’]autre|les autres|(?:on|nous|vous) y|là-bas|les deux|(?:le|la) même`),
  word(
    String.raw`(?:le|la|les) (?:premi(?:er|ère)|deuxième|second|seconde|troisième|derni(?:er|ère))s?(?= (?:de|du|en|par|pour|et|ou)(?![\p{L}])|[^\p{L} ]|$)`,
  ),
];
/** Of German, where nouns and the polite form have capital letters. */
const referencesOfGerman = [
  word(
    'er|ihn|ihm|ihnen|diese[rsmn]?|dies|jene[rsmn]?|dort|da|dann|dessen|beide[rsn]?|letztere[rsn]?|erstere[rsn]?|d(?:er|ie|as)selbe',
  ),
  word('da(?:r(?:an|auf|aus|in|über|um|unter)|bei|durch|für|gegen|mit|nach|von|vor|zu)'),
  word(
    String.raw`d(?:er|ie|as|en|em) (?:erste|zweite|dritte|vierte|letzte|andere|nächste)[rn]?(?= \p{Ll}|[^\p{L} ]|$)`,
  ),
  // An article stands before its noun.
  word(
    'd(?:er|ie|as|en|em)(?= (?:auch|denn|dann|noch|genau|wirklich|eigentlich|für|mit|bei|in|im|ohne|einen?|kostenlos|geöffnet|offen|möglich|teuer|nur|überhaupt|man|ich)(?![\\p{L}]))',
  ),
  word(String.raw`sie(?= \p{Ll})`),
  String.raw`${word('d(?:er|ie|as|en)|sie')}${end}`,
];
const refers = new RegExp(references.join('|'), 'iu');
const refersInGerman = new RegExp(referencesOfGerman.join('|'), 'u');
const continues = new RegExp(
  String.raw`^[^\p{L}]*(?:and|but|or|so|also|why|what about|how about|how so|what if|what else|which one|tell me more|go on|yes|no|ok|okay|und|oder|aber|also|warum|wieso|ja|nein|was ist mit|wie ist es mit|wie sieht es mit|y|e|o|pero|entonces|por qué|sí|qué hay de|qué pasa con|et|ou|mais|alors|pourquoi|oui|non|qu['’]en est-il|quid)(?![\p{L}\p{M}])`,
  'iu',
);
/** Chinese, Japanese and Korean: pronouns, "and …?", "the second". */
const refersUnspaced =
  /^(?:那|那么|还有|然后|それで|では|じゃあ|そして|그럼|그러면|그리고)|[它他她]|[这那哪][个些种里儿边一]|第[一二三四五六七八九十两]个|另[一外]个?|两者|其中|これ|それ|あれ|その|この|あの|そこ|ここ|もう(?:一つ|片方)|[一二三四五]つ目|[一二三四五]番目|그것|그거|이것|그건|거기|다른 (?:것|건)|[첫두세네] ?번째|呢[？?]?$|(?:は|은|는)[？?]$/u;
const longMessage = 400;
const fewWords = 4;
const fewKeywords = 2;

/**
 * Whether a message may lean on the ones before it: it is short, begins as a continuation, or refers to something, by words of English,
 * German, Spanish and French, and of scripts without spaces. A long one says enough by itself. In other languages short messages count.
 */
export function dependsOnConversation(message: string): boolean {
  const text = message.trim();
  if (text.length > longMessage) return false;
  if (wordsOf(text).length <= fewWords || keywordsOf(text).length < fewKeywords) return true;
  const german = /^(?:Sie|Ihr)/u.test(text) ? text : text.charAt(0).toLowerCase() + text.slice(1);
  return refers.test(text) || refersInGerman.test(german) || continues.test(text) || refersUnspaced.test(text);
}
