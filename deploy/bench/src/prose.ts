const little =
  'the of and to in is that it for on with as are be this by an or not from at which but have has one can all their more if will when some other into its may than only over also after most must where between under'.split(
    ' ',
  );
const onsets = 'b c d f g h l m n p r s t v w br cl dr fl gr pl pr sh sp st th tr'.split(' ');
const vowels = 'a e i o u ea ai ou'.split(' ');
const ends = 'n r l s t m d nd rt st ck ng tion ment er ing ly'.split(' ');
const sentences = 6;

/** Returns a deterministic generator of numbers from 0 to 1. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c_1b_3c_6d) + 0x9e_37_79_b9) | 0;
    const bits = Math.imul(state ^ (state >>> 13), 0x29_7a_2d_39);
    return ((bits ^ (bits >>> 16)) >>> 0) / 2 ** 32;
  };
}

const of = <T>(list: readonly T[], random: () => number): T => list[Math.floor(list.length * random())] as T;

function wordOf(random: () => number): string {
  const syllables = Array.from({ length: 1 + Math.floor(2 * random()) }, () => of(onsets, random) + of(vowels, random));
  return syllables.join('') + of(ends, random);
}

const lexicon = Array.from({ length: 8_000 }, (_, n) => wordOf(randomOf(n)));
/** Picks a word; words earlier in the lexicon are more frequent. */
const word = (random: () => number) => lexicon[Math.floor(lexicon.length * random() ** 3)] as string;

/**
 * Generates passages of a document in invented words. Half of the words are function words, a quarter belong to the document's subject, and
 * the rest are arbitrary. Another `stream` generates other passages of the same document, such as questions.
 */
export function passage(document: number, stream = 0): () => string {
  const ofSubject = randomOf(document);
  const subject = Array.from({ length: 40 }, () => of(lexicon, ofSubject));
  const random = randomOf(document + 7_919 * (stream + 1));
  const next = () => {
    const which = random();
    if (which < 0.5) return of(little, random);
    return which < 0.75 ? of(subject, random) : word(random);
  };
  return () =>
    Array.from({ length: sentences }, () => {
      const words = Array.from({ length: 8 + Math.floor(12 * random()) }, next).join(' ');
      return `${words[0]?.toUpperCase()}${words.slice(1)}.`;
    }).join(' ');
}
