/** Our own lint rules, loaded by oxlint (`.oxlintrc.json`, "jsPlugins"). */

/**
 * A module that reads the clock cannot be tested at another time, and does not follow the staging
 * environment's virtual clock. So time is an argument, and only main.ts and tests may ask for it.
 */
const noCurrentTime = {
  meta: {
    type: 'problem',
    messages: { current: 'Take the time as an argument instead of reading the clock here.' },
    schema: [],
  },
  create(context) {
    const report = (node) => context.report({ node, messageId: 'current' });
    return {
      NewExpression(node) {
        if (isNamed(node.callee, 'Date') && node.arguments.length === 0) report(node);
      },
      CallExpression(node) {
        if (isNamed(node.callee, 'Date')) report(node);
      },
      // As a member and not as a call, so that handing `Date.now` on is found too.
      MemberExpression(node) {
        if (isNamed(node.object, 'Date') && isNamed(node.property, 'now')) report(node);
      },
    };
  },
};

/**
 * A test that waits for a fixed time is slow on a quiet machine, and fails on a busy one. It may wait for an
 * event, poll until a condition holds, or let a limit of a few milliseconds pass that it has set itself.
 */
const noFixedWait = {
  meta: {
    type: 'problem',
    messages: { fixed: 'Wait for an event, or in a loop until a condition holds.' },
    schema: [],
  },
  create(context) {
    return {
      AwaitExpression(node) {
        if (isFixedWait(node.argument) && !isInConditionalLoop(node)) {
          context.report({ node, messageId: 'fixed' });
        }
      },
    };
  },
};

const waitMsMax = 20;

/** `sleep(50)`, or `new Promise((resolve) => setTimeout(resolve, 50))`. */
function isFixedWait(node) {
  if (node.type === 'NewExpression') {
    const [executor] = node.arguments;
    const isTimer = (one) => isNamed(one.callee, 'setTimeout') && isLong(one.arguments[1]);
    const finds = (one) => one.type === 'CallExpression' && isTimer(one);
    return isNamed(node.callee, 'Promise') && some(executor?.body, finds);
  }
  if (node.type !== 'CallExpression') return false;
  const isWait = ['setTimeout', 'sleep', 'pause'].some((name) => isNamed(node.callee, name));
  return isWait && isLong(node.arguments[0]);
}

const isLong = (node) => node?.type === 'Literal' && Number(node.value) > waitMsMax;

/** Whether a loop around it ends by something else than a count. */
function isInConditionalLoop(node) {
  for (let one = node.parent; one !== null && !isFunction(one); one = one.parent) {
    if (one.type === 'WhileStatement' || one.type === 'DoWhileStatement') return true;
    const ends = (inner) => /^(Break|Return|Throw)Statement$/.test(inner.type);
    if (one.type.startsWith('For') && (some(one.body, ends) || isOfSeveral(one.test))) return true;
  }
  return false;
}

/** A counted loop compares its counter alone. */
const isOfSeveral = (test) => (test ?? null) !== null && test.type !== 'BinaryExpression';

const isFunction = (node) => /Function/.test(node.type);

/** Whether the node or one in it is wanted; functions in it are not part of it. */
function some(node, isWanted) {
  if (node === null || typeof node !== 'object') return false;
  if (Array.isArray(node)) return node.some((one) => some(one, isWanted));
  if (typeof node.type !== 'string' || isFunction(node)) return false;
  if (isWanted(node)) return true;
  return Object.entries(node).some(([key, value]) => key !== 'parent' && some(value, isWanted));
}

function isNamed(node, name) {
  return node.type === 'Identifier' && node.name === name;
}

export default {
  meta: { name: 'outlay' },
  rules: { 'no-current-time': noCurrentTime, 'no-fixed-wait': noFixedWait },
};
