"""Graphs from files and from other libraries."""

from __future__ import annotations

import json

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

from certcore.common.errors import InputError
from certcore.data import (
    Dataset,
    citation_like,
    from_networkx,
    from_pyg,
    load_dataset_file,
    make_split,
    save_dataset,
)
from certcore.data.dataset import ImportOptions, build_dataset
from experiments.__main__ import main
from experiments.datasets.files import from_tables, import_file
from experiments.datasets.linqs import read_linqs
from experiments.datasets.texts import from_documents, nearest_neighbours

CONTENT = "a 1 0 1 red\nb 0 1 1 blue\nc 1 1 0 red\nd 0 0 1 blue\ne 1 0 0 red\n"
CITES = "a b\nb c\nc a\nb b\nd x\nd e\n"


ALL: ImportOptions = {"binarize": True, "undirected": True, "simplify": True, "largest_component": True}


def test_linqs_is_changed_only_as_asked_for():
    for without in ("undirected", "simplify"):
        with pytest.raises(InputError, match=f"--{without}"):
            read_linqs("tiny", CONTENT, CITES, **{key: True for key in ALL if key != without})
    assert read_linqs("tiny", CONTENT, CITES, undirected=True, simplify=True).graph.n_nodes == 5
    dataset = read_linqs("tiny", CONTENT, CITES, **ALL)
    assert [sentence.split(":")[0] for sentence in dataset.changes] == [
        "1 citations of unknown nodes",
        "1 self loops",
        "4 edges in one direction only",
        "2 connected components",
    ]
    assert dataset.node_names == ("a", "b", "c")
    assert dataset.graph.n_edges == 3
    assert dataset.class_names == ("blue", "red")
    assert dataset.labels.tolist() == [1, 0, 1]
    assert dataset.graph.attributes.toarray().tolist() == [[1, 0, 1], [0, 1, 1], [1, 1, 0]]


@pytest.mark.parametrize(
    ("content", "cites", "message"),
    [
        ("", "a b", "empty"),
        ("a 1 0 red\nb 1 blue\n", "a b", "line 2"),
        ("a 1 x red\nb 0 1 blue\n", "a b", "no number"),
        ("a 1 0 red\na 0 1 blue\n", "a b", "twice"),
        ("a 1 0 red\nb 0 1 blue\n", "a b c", "two ids"),
    ],
)
def test_bad_linqs_files(content, cites, message):
    with pytest.raises(InputError, match=message):
        read_linqs("tiny", content, cites)


def test_nearest_neighbours_by_hand():
    words = np.array([[1, 1, 0, 0, 0], [1, 1, 1, 0, 0], [0, 0, 1, 1, 0], [0, 0, 0, 1, 1], [0, 0, 0, 1, 1]])
    edges = nearest_neighbours(words, k=1)
    assert edges.tolist() == [[0, 1], [1, 0], [2, 1], [3, 4], [4, 3]]


def test_webkb_neighbours_are_those_of_the_reference(shared_data):
    """The development file was built elsewhere, by the same recipe."""
    with np.load(shared_data / "webkb_knn3.npz", allow_pickle=False) as file:
        words = sp.csr_array(
            (np.ones(len(file["attr_indices"])), file["attr_indices"], file["attr_indptr"]),
            shape=(int(file["n_nodes"]), int(file["n_attrs"])),
        )
        expected = file["knn_directed"]
    found = nearest_neighbours(words)[:, 1].reshape(-1, 3)
    same = np.mean([len(set(a) & set(b)) / 3 for a, b in zip(found.tolist(), expected.tolist())])
    assert len(found) * 3 == 2631
    assert same == 1


def test_shared_files_can_be_imported(shared_data, tmp_path, capsys):
    out = tmp_path / "cora_ml.npz"
    assert (
        main(["data", "import", str(shared_data / "cora_ml.npz"), "--name", "cora_ml", "-o", str(out), "--json"]) == 0
    )
    facts = json.loads(capsys.readouterr().out)
    assert (facts["nodes"], facts["edges"], facts["attributes"], facts["classes"]) == (2810, 7981, 2879, 7)
    assert load_dataset_file(out).graph.n_edges == 7981


def test_published_npz_form_is_made_symmetric_and_connected_when_asked(tmp_path):
    adj = sp.csr_array(([1, 1, 1], ([0, 1, 3], [1, 2, 3])), shape=(4, 4))
    attr = sp.csr_array(np.array([[0.5, 0], [0, 1], [1, 1], [1, 0]]))
    arrays = {f"adj_{k}": getattr(adj, k) for k in ("data", "indices", "indptr", "shape")}
    arrays |= {f"attr_{k}": getattr(attr, k) for k in ("data", "indices", "indptr", "shape")}
    np.savez(tmp_path / "g.npz", labels=np.array([0, 1, 0, 1]), **arrays)
    for without in ("binarize", "undirected", "simplify"):
        with pytest.raises(InputError, match=f"--{without}"):
            import_file(tmp_path / "g.npz", **{key: True for key in ALL if key != without})
    dataset = import_file(tmp_path / "g.npz", **ALL)
    assert dataset.graph.n_nodes == 3
    assert dataset.graph.edges.tolist() == [[0, 1], [1, 2]]
    assert dataset.graph.attributes.toarray().tolist() == [[1, 0], [0, 1], [1, 1]]
    whole = import_file(tmp_path / "g.npz", binarize=True, directed=True, simplify=True)
    assert whole.graph.directed
    assert whole.graph.n_nodes == 4
    adj = sp.csr_array((np.array([2.5]), ([0], [1])), shape=(4, 4))
    arrays |= {f"adj_{k}": getattr(adj, k) for k in ("data", "indices", "indptr", "shape")}
    np.savez(tmp_path / "weighted.npz", labels=np.array([0, 1, 0, 1]), **arrays)
    with pytest.raises(InputError, match="weights"):
        import_file(tmp_path / "weighted.npz", binarize=True, undirected=True)


def test_the_command_changes_nothing_unless_asked_and_says_what_it_changed(tmp_path, capsys):
    nodes, edges = tmp_path / "nodes.csv", tmp_path / "edges.csv"
    nodes.write_text("id,w1,w2,class\nn1,1,0,x\nn2,0,2.5,y\nn3,1,1,x\nn4,1,1,x\n")
    edges.write_text("n1,n2\nn2,n3\nn2,n3\n")
    words = ["data", "import", str(nodes), "--edges", str(edges), "-o", str(tmp_path / "o.npz")]
    options = ["--binarize", "--undirected", "--simplify"]
    for option in options:
        assert main([*words, *(other for other in options if other != option)]) == 2
        assert option in capsys.readouterr().err
    assert main([*words, *options, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["nodes"] == 4
    assert [sentence.split()[0] for sentence in facts["changes"]] == ["1", "1", "2"]
    assert main([*words, *options, "--largest-component"]) == 0
    out = capsys.readouterr().out
    assert out.count("changed: ") == 4
    again = load_dataset_file(tmp_path / "o.npz")
    assert again.graph.n_nodes == 3
    assert len(again.changes) == 4
    # The record grows with the next step.
    third = import_file(tmp_path / "o.npz", "third", largest_component=True)
    assert third.changes == again.changes


def test_documents(tmp_path):
    lines = ["oil\tcrude oil price barrel", "oil\tbarrel of crude oil", "corn\tgrain corn wheat tonnes"]
    lines += ["corn\twheat corn harvest", "oil\topec oil output barrel", "corn\ttonnes of wheat"]
    path = tmp_path / "docs.tsv"
    path.write_text("\n".join(lines))
    dataset = import_file(path, words=8)
    assert dataset.class_names == ("corn", "oil")
    assert dataset.graph.n_attrs == 8
    assert dataset.graph.incident.min() >= 3
    path.write_text("no class here")
    with pytest.raises(InputError, match="without a tab"):
        import_file(path)
    with pytest.raises(InputError, match="neighbours"):
        from_documents("few", ["a word", "another"], ["x", "y"])


def test_tables(tmp_path):
    nodes, edges = tmp_path / "nodes.csv", tmp_path / "edges.csv"
    nodes.write_text("id,w1,w2,class\nn1,1,0,x\nn2,0,2.5,y\nn3,1,1,x\n")
    edges.write_text("source,target\nn1,n2\nn2,n3\n")
    with pytest.raises(InputError, match="--binarize"):
        from_tables(edges, nodes, "t", undirected=True)
    with pytest.raises(InputError, match="one direction only"):
        from_tables(edges, nodes, "t", binarize=True)
    with pytest.raises(InputError, match="both directed and undirected"):
        from_tables(edges, nodes, "t", binarize=True, directed=True, undirected=True)
    dataset = from_tables(edges, nodes, "t", binarize=True, undirected=True)
    assert dataset.graph.edges.tolist() == [[0, 1], [1, 2]]
    assert dataset.graph.attributes.toarray().tolist() == [[1, 0], [0, 1], [1, 1]]
    directed = from_tables(edges, nodes, "t", binarize=True, directed=True)
    assert directed.graph.edges.tolist() == [[1, 0], [2, 1]]  # n2 receives from n1
    edges.write_text("n1 n2\nn2 n9\n")
    with pytest.raises(InputError, match="n9"):
        from_tables(edges, nodes, "t", binarize=True)
    nodes.write_text("id,w1,class\nn1,1,x\nn2,x\n")
    with pytest.raises(InputError, match="line 3"):
        from_tables(edges, nodes, "t")


def test_word_matrices_and_folders_get_neighbours(tmp_path):
    nodes = tmp_path / "nodes.csv"
    rows = [f"n{k},{k % 2},{(k + 1) % 2},{int(k > 3)},{'xy'[k % 2]}" for k in range(8)]
    nodes.write_text("id,a,b,c,class\n" + "\n".join(rows))
    dataset = import_file(nodes)
    assert dataset.graph.n_nodes == 8
    assert dataset.graph.incident.min() >= 3
    for part, lines in (("one", CONTENT), ("two", CONTENT.replace("a ", "f ").replace("b ", "g "))):
        lines = "\n".join(f"{part}{line}" for line in lines.splitlines())
        (tmp_path / f"{part}.content").write_text(lines)
    folder = import_file(tmp_path, "webkb")
    assert folder.graph.n_nodes == 10
    assert folder.graph.incident.min() >= 3
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"no \.content files"):
        import_file(tmp_path / "empty")


def test_networkx():
    graph = nx.karate_club_graph()
    for node in graph.nodes:
        graph.nodes[node]["x"] = [node % 2, 1]
        graph.nodes[node]["y"] = graph.nodes[node]["club"]
    with pytest.raises(InputError, match="weights"):
        from_networkx(graph, "karate")
    dataset = from_networkx(graph, "karate", simplify=True)
    assert len(dataset.changes) == 1
    assert (dataset.graph.n_nodes, dataset.graph.n_edges) == (34, 78)
    assert dataset.class_names == ("Mr. Hi", "Officer")
    del graph.nodes[5]["x"]
    with pytest.raises(InputError, match="node 5"):
        from_networkx(graph, "karate")


def test_networkx_direction_is_who_receives():
    graph = nx.DiGraph([("a", "b"), ("b", "c")])
    for i, node in enumerate(graph.nodes):
        graph.nodes[node].update(x=[1, i % 2], y=i % 2)
    assert from_networkx(graph, "d").graph.edges.tolist() == [[1, 0], [2, 1]]
    both = from_networkx(graph, "d", undirected=True)
    assert both.graph.edges.tolist() == [[0, 1], [1, 2]]
    assert len(both.changes) == 1
    graph.add_node("alone", x=[0, 0], y=0)
    assert from_networkx(graph, "d").node_names == ("a", "b", "c", "alone")
    assert from_networkx(graph, "d", largest_component=True).node_names == ("a", "b", "c")
    graph.nodes["alone"]["x"] = [0, 0.25]
    with pytest.raises(InputError, match="--binarize"):
        from_networkx(graph, "d")


@pytest.fixture
def pyg():
    torch = pytest.importorskip("torch")
    data_module = pytest.importorskip("torch_geometric.data")
    edge_index = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    x = torch.tensor([[1.0, 0], [0, 1], [1, 1], [1, 0]])
    return data_module.Data(x=x, edge_index=edge_index, y=torch.tensor([0, 1, 0, 1]))


def test_pyg_is_taken_as_it_is(pyg):
    dataset = from_pyg(pyg, "p")
    assert dataset.graph.edges.tolist() == [[0, 1], [1, 2]]
    assert dataset.graph.attributes.toarray().tolist() == [[1, 0], [0, 1], [1, 1], [1, 0]]
    assert not dataset.graph.directed
    assert dataset.changes == []
    assert dataset.split is None
    pyg.y = None
    with pytest.raises(InputError, match="no y"):
        from_pyg(pyg, "p")


def test_pyg_continuous_features_are_not_made_ones(pyg):
    pyg.x = pyg.x + 0.25
    with pytest.raises(InputError, match="binarize=True"):
        from_pyg(pyg, "p")
    assert len(from_pyg(pyg, "p", binarize=True).changes) == 1


def test_pyg_edges_in_one_direction_are_not_doubled(pyg):
    pyg.edge_index = pyg.edge_index[:, [0, 2]]
    with pytest.raises(InputError, match="undirected=True"):
        from_pyg(pyg, "p")
    directed = from_pyg(pyg, "p", directed=True)
    assert directed.graph.edges.tolist() == [[1, 0], [2, 1]]
    assert directed.changes == []
    undirected = from_pyg(pyg, "p", undirected=True)
    assert undirected.graph.edges.tolist() == [[0, 1], [1, 2]]
    assert len(undirected.changes) == 1


def test_pyg_nodes_are_dropped_only_when_asked_and_can_be_found_again(pyg):
    import torch

    assert from_pyg(pyg, "p").graph.n_nodes == 4
    pyg.edge_index = torch.tensor([[1, 2, 2, 3], [2, 1, 3, 2]])
    dataset = from_pyg(pyg, "p", largest_component=True)
    assert dataset.node_names == ("1", "2", "3")
    assert len(dataset.changes) == 1
    pyg.node_names = ["anna", "bob", "carl", "dora"]
    assert from_pyg(pyg, "p", largest_component=True).node_names == ("bob", "carl", "dora")


def test_pyg_masks_become_the_split(pyg, tmp_path):
    import torch

    pyg.train_mask = torch.tensor([True, False, False, False])
    pyg.val_mask = torch.tensor([False, True, False, False])
    pyg.test_mask = torch.tensor([False, False, True, False])
    dataset = from_pyg(pyg, "p")
    assert dataset.split.tolist() == [0, 1, 2, -1]
    assert from_pyg(pyg, "p", largest_component=True).split.tolist() == [0, 1, 2]
    save_dataset(tmp_path / "p.npz", dataset)
    assert load_dataset_file(tmp_path / "p.npz").split.tolist() == [0, 1, 2, -1]
    pyg.val_mask = pyg.train_mask
    with pytest.raises(InputError, match="two of the masks"):
        from_pyg(pyg, "p")
    pyg.val_mask = torch.zeros((4, 10), dtype=torch.bool)
    with pytest.raises(InputError, match="choose one"):
        from_pyg(pyg, "p")


def test_pyg_loops_repetitions_and_weights_are_not_dropped_silently(pyg):
    import torch

    plain = pyg.edge_index
    for extra in ([[3], [3]], [[0, 1], [1, 0]]):
        pyg.edge_index = torch.cat([plain, torch.tensor(extra)], dim=1)
        with pytest.raises(InputError, match="simplify=True"):
            from_pyg(pyg, "p")
        assert len(from_pyg(pyg, "p", simplify=True).changes) == 1
    pyg.edge_index = plain
    pyg.edge_attr = torch.tensor([1.0, 1, 0.5, 0.5])
    with pytest.raises(InputError, match="simplify=True"):
        from_pyg(pyg, "p")
    pyg.edge_attr = torch.ones(4)
    assert from_pyg(pyg, "p").changes == []
    pyg.y = torch.tensor([0, 1, 0, 10**12])
    with pytest.raises(InputError, match="1000000000000"):
        from_pyg(pyg, "p")


def test_unknown_options_are_refused(pyg):
    with pytest.raises(InputError, match="connected"):
        from_pyg(pyg, "p", connected=True)


def test_labels_outside_the_range():
    graph = citation_like(60, 30, 3).graph
    labels = np.zeros(60, dtype=int)
    labels[7] = 5
    with pytest.raises(InputError, match=r"labels of bad contains 5"):
        Dataset("bad", graph, labels, ("a", "b"))
    with pytest.raises(InputError, match="whole numbers"):
        Dataset("bad", graph, labels.astype(float), ("a", "b"))


def test_attributes_must_be_finite():
    with pytest.raises(InputError, match="NaN"):
        build_dataset("bad", np.array([[0, 1]]), np.array([[np.nan], [1.0]]), np.array([0, 1]), ("a", "b"))


def test_dataset_files_round_trip_and_reject_pickles(tmp_path):
    dataset = citation_like(80, 40, 3, seed=4)
    save_dataset(tmp_path / "d.npz", dataset)
    again = load_dataset_file(tmp_path / "d.npz")
    assert np.array_equal(again.graph.attr_indices, dataset.graph.attr_indices)
    assert again.source == dataset.source
    np.savez(tmp_path / "bad.npz", labels=np.array([{}], dtype=object))
    with pytest.raises(InputError):
        load_dataset_file(tmp_path / "bad.npz")
    with pytest.raises(InputError):
        load_dataset_file(tmp_path / "absent.npz")


def test_generator_is_seeded_sparse_and_homophilous():
    dataset = citation_like(3000, 500, 5, degree=4, ones=20, seed=1)
    again = citation_like(3000, 500, 5, degree=4, ones=20, seed=1)
    assert np.array_equal(dataset.graph.adj_indices, again.graph.adj_indices)
    other = citation_like(3000, 500, 5, degree=4, ones=20, seed=2)
    assert not np.array_equal(dataset.graph.attr_indices, other.graph.attr_indices)
    ends = dataset.labels[dataset.graph.edges]
    assert np.mean(ends[:, 0] == ends[:, 1]) > 0.7
    assert 3.5 < 2 * dataset.graph.n_edges / 3000 < 4.01
    assert 10 < dataset.graph.ones.mean() < 20.5
    assert dataset.graph.incident.max() > 8 * dataset.graph.incident.mean()
    with pytest.raises(InputError):
        citation_like(5, 500, 5)


def test_splits():
    labels = np.arange(600) % 6
    split = make_split(labels, 0)
    for part, size in ((0, 20), (1, 20)):
        assert np.bincount(labels[split == part]).tolist() == [size] * 6
    assert (split == 2).sum() == 600 - 240
    assert np.array_equal(split, make_split(labels, 0))
    assert not np.array_equal(split, make_split(labels, 1))
    with pytest.raises(InputError, match="class 1 has 20"):
        make_split(np.repeat([0, 1], [100, 20]), 0)
    small = make_split(np.repeat([0, 1], [100, 39]), 0)
    assert np.bincount(small[100:]).tolist() == [20, 19]
