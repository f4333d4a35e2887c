import { keywordsOf, wordsOf } from '../models/offline-text.ts';

const word = (words: string) => String.raw`(?<![\p{L}\p{M}])(?:${words})(?![\p{L}\p{M}])`;
/** Matches if only punctuation follows. */
const end = String.raw`[^\p{L}\p{N}]*$`;

/** Patterns for references to earlier messages. */
const references = [
  // English
  word(
    'its|this|these|those|they|them|theirs?|he|him|his|she|hers?|former|latter|the same|else|another|both|neither|mine',
  ),
  // "What does it cost to renew a passport?" needs no earlier message; "Is it allowed in winter?" does.
  String.raw`${word('it')}(?! (?:\p{L}+ ){1,3}(?:to|that|for \p{L}+ to) \p{L}+)`,
  String.raw`${word('the others?')}(?! \p{L})`,
  word(
    'such(?! as)|as well(?! as)|(?:bring|take|come) along|likewise|(?:mentioned|said|listed|named) (?:above|before|earlier)|the above|number (?:one|two|three|four|five)',
  ),
  word(
    String.raw`the (?:more|less) \p{L}{3,}|the (?:cheaper|dearer|larger|bigger|smaller|longer|shorter|faster|slower|newer|older|earlier|later|better|remaining|aforementioned)(?! of)`,
  ),
  word(
    'your (?:previous|last|first|earlier|other) \\p{L}+|(?:you|we) (?:just )?(?:said|mentioned|named|listed|told)|(?:previous|last) (?:answer|question|message|reply)',
  ),
  // The next pattern does not match "the lamp that costs" or "do you know that".
  word(
    String.raw`(?:^(?:is|was|does|did|do|can|could|will|would|has|should)|for|of|in|on|at|with|about|from|by|to|during|after|before) that \p{L}{3,}`,
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
/** German patterns, separate because case matters: nouns and the polite form are capitalized. */
const referencesOfGerman = [
  word(
    'er|ihn|ihm|ihnen|diese[rsmn]?|dies|jene[rsmn]?|dort|da|dann|dessen|beide[rsn]?|letztere[rsn]?|erstere[rsn]?|d(?:er|ie|as)selbe',
  ),
  word('da(?:r(?:an|auf|aus|in|über|um|unter)|bei|durch|für|gegen|mit|nach|von|vor|zu)'),
  word(
    'hier(?:für|bei|mit|von|zu|über|auf|durch|nach|gegen|in|an)|diesbezüglich|solche[rsmn]?|ebenfalls|ebenso|stattdessen',
  ),
  word(
    'd(?:er|ie|as|en|em) (?:günstigere|billigere|teurere|größere|kleinere|längere|kürzere|neuere|ältere|bessere|frühere|spätere|schnellere|übrige|restliche|genannte|obige|vorige|vorherige|erwähnte|oben genannte)[nrs]?',
  ),
  word('(?:[Ee]rst|[Ll]etzt)ere[rsmn]?|(?:du|Sie) (?:[\\p{L}]+ )?(?:genannt|erwähnt|gesagt|empfohlen|aufgezählt)'),
  // An ordinal used as a noun: "der Zweite". Before another capitalized word ("der Zweite Vorsitzende") it is an
  // adjective or part of a name.
  word(
    String.raw`d(?:er|ie|as|en|em) (?:Erste|Zweite|Dritte|Vierte|Letzte|Andere|Nächste|Günstigere|Billigere|Teurere)[rn]?(?! \p{Lu})`,
  ),
  word(
    String.raw`d(?:er|ie|as|en|em) (?:erste|zweite|dritte|vierte|letzte|andere|nächste)[rn]?(?= \p{Ll}|[^\p{L} ]|$)`,
  ),
  // An article used as a pronoun: no noun follows.
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
/** Chinese measure words. Together with one of these, "the second" and "which" stand for a noun. */
const measure = '[个位款门项种节条间家台本次堂件份张部辆只套期班名页章类些样]';
/** Matches Chinese, Japanese and Korean words that refer to an earlier message: pronouns, "and …?", "the second". */
const refersUnspaced = new RegExp(
  [
    '^(?:那|那么|还有|然后|それで|では|じゃあ|そして|그럼|그러면|그리고)',
    '(?<![其吉])[它他她](?!人|[国乡])|[这那](?:个|些|里|儿|边|样|种|一)|哪(?:个|一|种(?!类)|些(?=[？?是可有最更不比]|$))',
    String.raw`[这那](?:${measure})|哪(?![些样类])${measure}|(?:(?<!的)第[一二三四五六七八九十两0-9]+|最后一|另外?[一两]?|上[一两]|下一|前[一两几])${measure}(?!月|年)`,
    '另[一外]|两者|前者|后者|其中|其余|其他(?=的?[？?。]|$)|(?<![应活本])该(?!怎|如何|不|去|做|付|交|带|注意|死|罚)|(?<![如因从由对为在据藉凭特就])此(?=[项款条类件种产服课次])|(?:^|[，。？、,\\s问]|(?<!\\p{L}))以上(?=[费内所信的几这条规课套服产])|上[述面](?=提|说|的|所|这|讲)|刚才|刚刚(?=说|提)|你(?:刚|之前|前面|上面)|(?:你|您)(?:说|提到|推荐)的|也(?:一样|是这样|可以|行|要|需要|包括|有)|同样|便宜的那|贵的那|的那[门个款位种]',
    'これ|それ|あれ|その|この|あの|そこ|ここ|もう(?:一つ|片方)|[一二三四五]つ目|[一二三四五]番目|前者|後者',
    '그것|그거|이것|그건|거기|다른 (?:것|건)|[첫두세네] ?번째',
    '呢[？?]?$|^[^和与跟同]*(?:一样|相同)吗[？?]?$|(?:は|은|는)[？?]$',
  ].join('|'),
  'u',
);
/** Greetings, thanks and farewells, which do not ask anything. */
const asksNothing = new RegExp(
  String.raw`^(?:[^\p{L}\p{N}]*(?:hello|hi|hey|hiya|there|good (?:morning|afternoon|evening|day|night)|thanks?|thank you|thx|cheers|a lot|(?:so|very) much|for (?:your|the) (?:help|answer|information)|many|bye|goodbye|see you|great|perfect|nice|hallo|guten (?:morgen|tag|abend)|servus|moin|grüß gott|grüezi|danke(?:schön)?|vielen dank|schönen dank|besten dank|sehr|tschüss|auf wiedersehen|super|prima|hola|buen(?:os|as) (?:días|tardes|noches)|(?:muchas )?gracias|adiós|bonjour|bonsoir|salut|merci(?: beaucoup)?|au revoir|ciao|grazie(?: mille)?|olá|obrigad[oa]|你好|您好|早上好|晚上好|谢谢[你您]?|多谢|感谢|再见|非常感谢|こんにちは|おはようございます|ありがとう(?:ございます|ございました)?|안녕하세요|감사합니다|고맙습니다)(?![\p{L}\p{M}]))+[^\p{L}\p{N}]*$`,
  'iu',
);
const longMessage = 400;
const fewWords = 4;
/** Short messages in scripts without spaces. */
const fewCharacters = /^[^\p{L}\p{N}]*(?:[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}][^\p{L}\p{N}]*){1,6}$/u;
const fewKeywords = 2;

/**
 * Reports whether a message may depend on earlier ones: it is short, begins like a continuation, or contains words that
 * refer to something. Such words are known for English, German, Spanish, French and scripts without spaces; in other
 * languages only short messages count. Long messages are complete in themselves, and greetings ask nothing.
 */
export function dependsOnConversation(message: string): boolean {
  const text = message.trim();
  if (text.length > longMessage || asksNothing.test(text)) return false;
  if (fewCharacters.test(text) || wordsOf(text).length <= fewWords || keywordsOf(text).length < fewKeywords)
    return true;
  const german = /^(?:Sie|Ihr)/u.test(text) ? text : text.charAt(0).toLowerCase() + text.slice(1);
  return refers.test(text) || refersInGerman.test(german) || continues.test(text) || refersUnspaced.test(text);
}
