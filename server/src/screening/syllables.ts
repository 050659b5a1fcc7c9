/**
 * Korean and Chinese syllables, whose usual romanizations (Revised Romanization, McCune-Reischauer and
 * the spelling of North Korea; Pinyin and Wade-Giles) differ in most letters of a short word: Park, Pak
 * and Bak are one name, and so are Jung, Chong and Jeong.
 */

const form =
  /^(kk|tt|pp|ss|jj|ch|sh|zh|ts|hs|[bcdfghjklmnpqrstwxyz])?(yae|yeo|wae|weo|iao|iau|uai|yoo|ae|ai|ao|au|ea|ee|ei|eo|eu|ia|ie|io|iu|oe|oi|oo|ou|ua|ue|ui|uo|wa|we|wi|wo|ya|ye|yo|yu|[aeiouv])(ng|[kgnhrlmpbt])?$/;

const initials: Readonly<Record<string, string>> = {
  g: 'k',
  kk: 'k',
  q: 'j',
  d: 't',
  tt: 't',
  b: 'p',
  pp: 'p',
  jj: 'j',
  ch: 'j',
  zh: 'j',
  c: 's',
  z: 's',
  ts: 's',
  ss: 's',
  sh: 's',
  hs: 's',
  x: 's',
  l: 'r',
  f: 'p',
  y: '',
};
const nuclei: Readonly<Record<string, string>> = {
  eo: 'o',
  u: 'o',
  oo: 'o',
  ou: 'o',
  eu: 'o',
  uo: 'o',
  wo: 'o',
  weo: 'o',
  ea: 'a',
  ae: 'e',
  ai: 'e',
  ei: 'e',
  oe: 'e',
  oi: 'e',
  we: 'e',
  wae: 'e',
  ee: 'i',
  ui: 'i',
  yeo: 'yo',
  io: 'yo',
  iu: 'yo',
  yu: 'yo',
  yoo: 'yo',
  ia: 'ya',
  ie: 'ye',
  yae: 'ye',
  ua: 'wa',
  iao: 'yao',
  iau: 'yao',
  au: 'ao',
};
const finals: Readonly<Record<string, string>> = { g: 'k', b: 'p', l: 'r', h: '' };

/** A key that the romanizations of a syllable share, or undefined where the word is no syllable. */
export function findSyllableKey(word: string): string | undefined {
  if (word.length < 2 || word.length > 6) return undefined;
  const parts = form.exec(word);
  if (parts === null) return undefined;
  const [, initial = '', nucleus = '', final = ''] = parts;
  // Ri, Li, Lee, Rhee and Yi are one family name, and so are Rim and Lim.
  const vowel = nuclei[nucleus] ?? nucleus;
  const begin = initials[initial] ?? initial;
  return `${begin}-${vowel}-${finals[final] ?? final}`;
}
