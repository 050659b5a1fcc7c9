/** The texts of the chosen language, and numbers, dates and names of countries as it writes them. */

const given = JSON.parse(document.getElementById('data').textContent);

/** The page's data, its path, and the languages that there are. */
export const { page: firstPage, path, languages } = given;

let language = given.language;
let texts = given.texts;

export function currentLanguage() {
  return language;
}

/** Numbers in digits that the person also types; Arabic and Hindi pages use them too. */
function locale() {
  return `${language}-u-nu-latn`;
}

/** `say('verify.step', { step: 1, count: 3 })`: the text of a key with its values inserted. */
export function say(key, values = {}) {
  const text = texts[key] ?? '';
  return text.replace(/\{([a-z]+)\}/g, (_match, name) => {
    const value = values[name];
    return typeof value === 'number' ? writeNumber(value) : isolate(String(value ?? ''));
  });
}

export function hasText(key) {
  return texts[key] !== undefined;
}

/** The form of a text that the language has for this count. */
export function sayCount(key, count) {
  const form = new Intl.PluralRules(language).select(count);
  return say(texts[`${key}.${form}`] === undefined ? `${key}.other` : `${key}.${form}`, { count });
}

/** A name keeps its own direction and does not turn the text around it. */
export function isolate(text) {
  return text === '' ? '' : `\u2068${text}\u2069`;
}

function writeNumber(number) {
  return new Intl.NumberFormat(locale()).format(number);
}

export function writePercent(part) {
  return new Intl.NumberFormat(locale(), { style: 'percent' }).format(part);
}

/** `amount` is a decimal text, which no binary number has to hold. */
export function writeMoney(amount, currency, digits) {
  const options = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  const number = new Intl.NumberFormat(locale(), options).format(amount);
  return isolate(`${number}\u00a0${currency}`);
}

export function writeTime(text) {
  const options = { dateStyle: 'long', timeStyle: 'short' };
  return new Intl.DateTimeFormat(locale(), options).format(new Date(text));
}

export function writeClock(text) {
  return new Intl.DateTimeFormat(locale(), { timeStyle: 'short' }).format(new Date(text));
}

export function nameCountry(code) {
  return new Intl.DisplayNames([language], { type: 'region' }).of(code) ?? code;
}

export function writeDuration(seconds) {
  const minutes = Math.ceil(seconds / 60);
  const hours = Math.ceil(minutes / 60);
  const days = Math.ceil(hours / 24);
  const [count, unit] =
    minutes < 90 ? [minutes, 'minute'] : hours < 48 ? [hours, 'hour'] : [days, 'day'];
  return new Intl.NumberFormat(locale(), { style: 'unit', unit, unitDisplay: 'long' }).format(
    count,
  );
}

function applyLanguage() {
  document.documentElement.lang = language;
  document.documentElement.dir = texts['language.dir'];
}

/** False where the texts cannot be loaded; then nothing changes. */
export async function changeLanguage(code) {
  try {
    const response = await fetch(`/recipient/assets/${code}.json`);
    if (!response.ok) return false;
    texts = await response.json();
    language = code;
  } catch {
    return false;
  }
  applyLanguage();
  return true;
}

applyLanguage();
