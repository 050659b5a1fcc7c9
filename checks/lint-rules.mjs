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

function isNamed(node, name) {
  return node.type === 'Identifier' && node.name === name;
}

export default { meta: { name: 'outlay' }, rules: { 'no-current-time': noCurrentTime } };
