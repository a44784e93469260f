// New clusters that an update proposed: what is in them, and, if the page is served by `rstc explore`, buttons to accept or
// decline them. Accepting is a correction, which can be undone.

function proposalFacts(proposal) {
  const stability = proposal.stability === null ? "" : `, found again in ${Math.round(100 * proposal.stability)} % of the resamples`;
  const near = proposal.near === null ? "" : `; the nearest cluster is “${isolate(clusterName(proposal.near))}”`;
  return formatTexts(proposal.size) + stability + near;
}

function proposalElement(proposal) {
  const read = () => { showRows(proposal.rows, `Proposed: ${isolate(proposal.name)}`); openTab("map"); scrollToTexts(); };
  const isOpen = proposal.status === "open";
  const decide = (label, action) => element("button", { type: "button", "data-action": `${action}-${proposal.id}`, onclick: () => sendEdit({ do: action, proposal: proposal.id }) }, label);
  return element("article", { "data-proposal": proposal.id, "data-status": proposal.status },
    element("h3", {}, `${proposal.id}. ${isolate(proposal.name)}`, isOpen ? "" : ` (${proposal.status})`),
    element("p", {}, proposalFacts(proposal)),
    element("p", {}, proposal.keywords.join(", ")),
    element("ul", {}, ...proposal.typical.map((row) => element("li", {}, textOf(row)))),
    element("div", { class: "actions" },
      element("button", { type: "button", onclick: read }, "Read all"),
      editing && proposal.status !== "accepted" ? decide("Accept", "accept") : null,
      editing && isOpen ? decide("Decline", "decline") : null));
}

function drawProposals(panel) {
  panel.replaceChildren(
    element("h2", {}, "Proposed clusters"),
    element("p", {}, "Groups of new texts that fit none of the clusters. An accepted group becomes a cluster."),
    ...state.proposals.map(proposalElement));
}
