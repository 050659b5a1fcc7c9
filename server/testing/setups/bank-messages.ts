/** Minimal messages of a bank. */

export function wrap(name: string, body: string): string {
  return `<Document xmlns="urn:iso:std:iso:20022:tech:xsd:${name}">${body}</Document>`;
}

const header = '<GrpHdr><MsgId>B1</MsgId><CreDtTm>2026-03-04T09:00:00Z</CreDtTm></GrpHdr>';

export function writeGroupStatus(messageId: string, status: string, code: string): string {
  return wrap(
    'pain.002.001.11',
    `<CstmrPmtStsRpt>${header}<OrgnlGrpInfAndSts><OrgnlMsgId>${messageId}</OrgnlMsgId>
      <OrgnlMsgNmId>pain.001</OrgnlMsgNmId><GrpSts>${status}</GrpSts>
      <StsRsnInf><Rsn><Cd>${code}</Cd></Rsn></StsRsnInf></OrgnlGrpInfAndSts></CstmrPmtStsRpt>`,
  );
}

export function writeStatus(
  messageId: string,
  reported: { reference: string; status: string; code: string; amount?: string },
): string {
  const { reference, status, code, amount } = reported;
  const reason = code === '' ? '' : `<StsRsnInf><Rsn><Cd>${code}</Cd></Rsn></StsRsnInf>`;
  const original =
    amount === undefined
      ? ''
      : `<OrgnlTxRef><Amt><InstdAmt Ccy="EUR">${amount}</InstdAmt></Amt></OrgnlTxRef>`;
  // With a namespace prefix, as some banks write it.
  const text = wrap(
    'pain.002.001.11',
    `<CstmrPmtStsRpt>${header}<OrgnlGrpInfAndSts><OrgnlMsgId>${messageId}</OrgnlMsgId>
      <OrgnlMsgNmId>pain.001</OrgnlMsgNmId></OrgnlGrpInfAndSts>
      <OrgnlPmtInfAndSts><OrgnlPmtInfId>${messageId}-1</OrgnlPmtInfId><TxInfAndSts>
      <OrgnlEndToEndId>${reference}</OrgnlEndToEndId><TxSts>${status}</TxSts>${reason}${original}
      </TxInfAndSts></OrgnlPmtInfAndSts></CstmrPmtStsRpt>`,
  );
  return text.replaceAll(/<(\/?)(\w)/g, '<$1n:$2').replace('xmlns=', 'xmlns:n=');
}

export function writeEntry(amount: string, details: string): string {
  return wrap(
    'camt.054.001.08',
    `<BkToCstmrDbtCdtNtfctn>${header}<Ntfctn><Id>1</Id>
      <Acct><Id><IBAN>DE89370400440532013000</IBAN></Id></Acct>
      <Ntry><Amt Ccy="EUR">${amount}</Amt><CdtDbtInd>DBIT</CdtDbtInd><Sts><Cd>BOOK</Cd></Sts>
      <BookgDt><Dt>2026-03-04</Dt></BookgDt><BkTxCd/><NtryDtls>${details}</NtryDtls></Ntry>
      </Ntfctn></BkToCstmrDbtCdtNtfctn>`,
  ).replace('<BkTxCd/>', '');
}

export function writeDebit(reference: string): string {
  return writeEntry(
    '123.45',
    `<TxDtls><Refs><EndToEndId>${reference}</EndToEndId></Refs></TxDtls>`,
  );
}

export function writeBatchDebit(
  id: string,
  { amount, count }: { amount: string; count: number },
): string {
  return writeEntry(amount, `<Btch><PmtInfId>${id}</PmtInfId><NbOfTxs>${count}</NbOfTxs></Btch>`);
}
