import ts from 'typescript';

/** Finds where a production file can be mutated: TypeScript by its syntax tree, SQL by its tokens. */

export type Edit = { start: number; end: number; after: string; operator: string };

const swaps = new Map(
  '< <= | <= < | > >= | >= > | === !== | !== === | = <> | <> = | + - | - + | * / | / * | % * | += -= | -= += | and or | or and'
    .split(' | ')
    .map((pair) => pair.split(' ') as [string, string]),
)
  .set('&&', '||')
  .set('||', '&&');
const operatorOf = (token: string): string =>
  /^[<>=!]/.test(token) ? 'comparison' : /^[-+*/%]/.test(token) ? 'arithmetic' : 'boolean';

/** Calls and properties that only say something to a person, and checks that never fail. */
const saysOnly = /\b(log|logger|assert\w*|span|tracer?|metrics?)\b|\.(describe|meta|info|warn)$/i;
const textName = /^(description|summary|examples?|title|message|name|tags|hint|help|level)$/;

export function listEdits(file: string, text: string): Edit[] {
  if (file.endsWith('.sql')) return listSchemaEdits(text);
  const edits: Edit[] = [];
  const visit = (node: ts.Node): void => {
    if (
      file.endsWith('.sql.ts') &&
      isTemplate(node) &&
      /\b(select|insert|update|delete|where)\b/.test(node.getText())
    ) {
      edits.push(...listTemplateEdits(node, text));
      return;
    }
    if (ts.isStatement(node)) edits.push(...editStatement(node));
    if (isText(node)) return;
    edits.push(...editExpression(node), ...editResult(node));
    ts.forEachChild(node, visit);
  };
  ts.forEachChild(ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true), visit);
  return edits;
}

const isTemplate = (node: ts.Node): boolean =>
  ts.isTemplateExpression(node) || ts.isNoSubstitutionTemplateLiteral(node);

/** Types, imports, messages and names: a change there is none of behavior, or one of wording. */
function isText(node: ts.Node): boolean {
  if (ts.isTypeNode(node) || ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node))
    return true;
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node) || ts.isThrowStatement(node))
    return true;
  if (ts.isNewExpression(node)) return node.expression.getText().endsWith('Error');
  if (ts.isCallExpression(node)) return saysOnly.test(node.expression.getText());
  return ts.isPropertyAssignment(node) && textName.test(node.name.getText());
}

const replace = (node: ts.Node, after: string, operator: string): Edit[] => [
  { start: node.getStart(), end: node.end, after, operator },
];

function editExpression(node: ts.Node): Edit[] {
  if (ts.isBinaryExpression(node)) {
    const token = node.operatorToken.getText();
    const joins = [node.left, node.right].some(
      (side) => isTemplate(side) || ts.isStringLiteral(side),
    );
    const after = token === '=' || (joins && token.startsWith('+')) ? undefined : swaps.get(token);
    return after === undefined ? [] : replace(node.operatorToken, after, operatorOf(token));
  }
  if (ts.isPrefixUnaryExpression(node) && node.operator === ts.SyntaxKind.ExclamationToken)
    return replace(node, node.operand.getText(), 'boolean');
  if (ts.isIfStatement(node) || ts.isConditionalExpression(node)) {
    const condition = ts.isIfStatement(node) ? node.expression : node.condition;
    return ['true', 'false'].flatMap((value) => replace(condition, value, 'condition'));
  }
  if (!ts.isNumericLiteral(node) && !ts.isBigIntLiteral(node)) return [];
  const isName = ts.isPropertyAssignment(node.parent) && node.parent.name === node;
  const [, digits, suffix] = /^(\d[\d_]*)(n?)$/.exec(node.getText()) ?? [];
  if (isName || digits === undefined) return [];
  return replace(node, `${BigInt(digits.replaceAll('_', '')) + 1n}${suffix}`, 'number');
}

/** Removes a call or what ends a function early. */
function editStatement(node: ts.Statement): Edit[] {
  const container = ts.isBlock(node.parent) ? node.parent.parent : node.parent;
  const leaves =
    ts.isReturnStatement(node) || ts.isThrowStatement(node) || ts.isContinueStatement(node);
  if (leaves && ts.isIfStatement(container)) return replace(node, ';', 'return');
  if (!ts.isExpressionStatement(node)) return [];
  const { expression } = node;
  const isWrapped = ts.isAwaitExpression(expression) || ts.isVoidExpression(expression);
  const call = isWrapped ? expression.expression : expression;
  if (!ts.isCallExpression(call) || isText(call) || call.expression.getText() === 'super')
    return [];
  return replace(node, ';', 'call');
}

function editResult(node: ts.Node): Edit[] {
  const isArrow = ts.isArrowFunction(node) && !ts.isBlock(node.body);
  const value = isArrow ? node.body : ts.isReturnStatement(node) ? node.expression : undefined;
  if (value === undefined) return [];
  if (isTemplate(value) || (ts.isStringLiteral(value) && value.text !== ''))
    return replace(value, "''", 'empty');
  const isList = ts.isArrayLiteralExpression(value) && value.elements.length > 0;
  const called = ts.isCallExpression(value) ? value.expression.getText() : '';
  const makesList = /\.(map|filter|flatMap|toSorted|slice)$/.test(called);
  return isList || makesList ? replace(value, '[]', 'empty') : [];
}

const fill = (text: string): string => 'x'.repeat(text.length);

/** An interpolation counts as a name. */
function listTemplateEdits(node: ts.Node, text: string): Edit[] {
  const start = node.getStart();
  const spans = ts.isTemplateExpression(node) ? node.templateSpans : [];
  const masked = spans.reduce((whole, { expression }) => {
    const [from, to] = [expression.getFullStart() - 2, expression.end + 1];
    return whole.slice(0, from) + fill(whole.slice(from, to)) + whole.slice(to);
  }, text);
  return listSqlEdits(masked, start + 1, node.end - 1).filter((edit) => {
    // The protocol refuses a parameter that the statement does not use.
    const rest = masked.slice(start, edit.start) + edit.after + masked.slice(edit.end, node.end);
    const removed = masked.slice(edit.start, edit.end).match(/\$\d+/g) ?? [];
    return removed.every((parameter) => new RegExp(`\\${parameter}\\b`).test(rest));
  });
}

export type SchemaItem = { start: number; end: number; kind: string; name: string; text: string };

/** The statements of a schema file: each begins a line. */
export function listSchemaItems(text: string): SchemaItem[] {
  const begin = /^(?:create|alter|insert|grant|revoke|comment|do|drop|select|update)\b/gm;
  const starts = [...text.matchAll(begin)].map(({ index }) => index);
  return starts.map((start, at) => {
    const item = text.slice(start, starts[at + 1]);
    const head = /^create (?:or replace )?(?:unique |constraint )?(\w+) (\w+)/.exec(item);
    const [, kind = '', name = ''] = head ?? [];
    return { start, end: start + item.length, kind, name, text: item };
  });
}

/** Only the bodies of functions and the queries of views: they are what runs. */
function listSchemaEdits(text: string): Edit[] {
  return listSchemaItems(text).flatMap(({ start, end, kind, text: item }) => {
    if (kind !== 'function' && kind !== 'view') return [];
    const found = (kind === 'view' ? /\bas\b/ : /\bas \$\w*\$|^\s+return\s/m).exec(item);
    return found === null ? [] : listSqlEdits(text, start + found.index + found[0].length, end);
  });
}

type Rule = [operator: string, pattern: RegExp, after: (found: string) => string];
const swap = (found: string): string => swaps.get(found) ?? found;
/** PostgreSQL refuses what is none: an assignment that became a comparison, a range with `or`. */
const rules: readonly Rule[] = [
  ['comparison', /(?<![-<>=:|@&])(?:<=|>=|<>|[<>=])(?![<>=@])/g, swap],
  ['arithmetic', /(?<=[\w)] )[-+*/%](?= [\w($])/g, swap],
  ['boolean', /\b(?:and|or)\b/g, swap],
  ['boolean', /\bnot (?!materialized|matched)/g, () => ''],
  ['number', /(?<![$\w.]|offset |select )\d+(?![\w.])/g, (found) => `${BigInt(found) + 1n}`],
  ['call', /\bperform [^;]+/g, () => 'null'],
  ['return', /\breturn(?=;)/g, () => 'null'],
  ['condition', /(?<=(?<!end )\bif |\belsif )[^;]+?(?= then\b)/g, () => 'true'],
  ['condition', /(?<=(?<!end )\bif |\belsif )[^;]+?(?= then\b)/g, () => 'false'],
  [
    'condition',
    /(?<=\bwhen )(?:(?!\bthen\b)[^;])*?(?:[<>=]| is | in |exists )[^;]*?(?=\s+then\b)/g,
    () => 'false',
  ],
];

function listSqlEdits(text: string, from: number, to: number): Edit[] {
  const body = text.slice(from, to).replaceAll(/--.*|'(?:[^']|'')*'/g, fill);
  const edits = rules.flatMap(([operator, pattern, after]) =>
    [...body.matchAll(pattern)].map(({ index, 0: found }) => ({
      start: from + index,
      end: from + index + found.length,
      after: after(found),
      operator,
    })),
  );
  const conjuncts = [...body.matchAll(/\band\b/g)].map(({ index }) => ({
    start: from + index,
    end: from + findEnd(body, index + 3),
    after: '',
    operator: 'conjunct',
  }));
  return [...edits, ...conjuncts];
}

const bounds =
  /[(),;]|\$\w*\$|\b(?:case|end|and|or|where|group|order|limit|offset|returning|union|for|window|having|join|left|cross|on|as|from|then|else|when|loop|except|do)\b/g;

/** Where the condition that begins here ends. */
function findEnd(body: string, begin: number): number {
  let depth = 0;
  for (const { index, 0: bound } of body.slice(begin).matchAll(bounds)) {
    const closes = bound === ')' || bound === 'end';
    const opens = bound === '(' || bound === 'case';
    if (depth === 0 && !opens) return begin + body.slice(begin, begin + index).trimEnd().length;
    depth += opens ? 1 : closes ? -1 : 0;
  }
  return body.trimEnd().length;
}
