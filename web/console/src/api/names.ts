import { type QueryKey, queryOptions } from '@tanstack/react-query';
import type { Api, User } from './client.ts';

/** Names of recipients: those that a page needs at the same moment are asked for together. */

type Waiting = { resolve: (name: string) => void; reject: (error: unknown) => void };
type Question = Map<string, { answer: Promise<string> } & Waiting>;

/** As many as the service takes. */
const tokensMax = 100;
const staleMs = 5 * 60_000;
const questions = new WeakMap<Pick<Api, 'readPage'>, Question>();

export function nameUser({ first_name, middle_name, last_name, business_name }: User): string {
  const person = [first_name, middle_name, last_name].filter((part) => part !== '').join(' ');
  return business_name || person || 'Erased recipient';
}

export function nameQuery(api: Api, token: string) {
  const queryKey: QueryKey = [api.account, 'name', token];
  return queryOptions({
    queryKey,
    queryFn: () => loadName(api, token),
    staleTime: staleMs,
    enabled: token !== '',
  });
}

export function loadName(api: Pick<Api, 'readPage'>, token: string): Promise<string> {
  const open = questions.get(api) ?? openQuestion(api);
  const known = open.get(token);
  if (known !== undefined) return known.answer;
  let waiting: Waiting | undefined;
  const answer = new Promise<string>((resolve, reject) => {
    waiting = { resolve, reject };
  });
  if (waiting !== undefined) open.set(token, { answer, ...waiting });
  return answer;
}

function openQuestion(api: Pick<Api, 'readPage'>): Question {
  const question: Question = new Map();
  questions.set(api, question);
  // All parts of the page that are drawn now have asked by then.
  setTimeout(() => {
    questions.delete(api);
    const tokens = [...question.keys()];
    for (let from = 0; from < tokens.length; from += tokensMax) {
      void ask(api, question, tokens.slice(from, from + tokensMax));
    }
  }, 0);
  return question;
}

async function ask(
  api: Pick<Api, 'readPage'>,
  question: Question,
  tokens: readonly string[],
): Promise<void> {
  try {
    const query = { user_tokens: tokens.join(','), number_of_records: tokensMax };
    const { rows } = await api.readPage<User>('/user', query);
    const users = new Map(rows.map((user) => [user.user_token, user]));
    for (const token of tokens) {
      const user = users.get(token);
      if (user === undefined) question.get(token)?.reject(new Error('There is no such recipient'));
      else question.get(token)?.resolve(nameUser(user));
    }
  } catch (error) {
    for (const token of tokens) question.get(token)?.reject(error);
  }
}
