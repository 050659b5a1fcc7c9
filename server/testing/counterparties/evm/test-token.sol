// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.20;

/// A token for tests. Its mode makes it as awkward as some real ones are.
contract TestToken {
    /// 0: as ERC-20 says. 1: turns every transfer down. 2: returns false. 3: keeps a hundredth. 4: without a
    /// public blacklist.
    uint256 public mode;
    uint8 public immutable decimals;
    uint256 public totalSupply;
    string public constant symbol = "TEST";
    mapping(address holder => uint256 units) public balanceOf;
    /// Holders who get nothing.
    mapping(address holder => bool isBlocked) public blocked;

    event Transfer(address indexed from, address indexed to, uint256 value);

    constructor(uint8 decimals_) {
        decimals = decimals_;
    }

    function setMode(uint256 mode_) external {
        mode = mode_;
    }

    function mint(address holder, uint256 units) external {
        totalSupply += units;
        balanceOf[holder] += units;
        emit Transfer(address(0), holder, units);
    }

    /// As USDC has it; in mode 4 the contract has no such function.
    function isBlacklisted(address holder) external view returns (bool) {
        require(mode != 4);
        return blocked[holder];
    }

    function transfer(address to, uint256 units) external returns (bool) {
        require(mode != 1, "not now");
        require(!blocked[to], "blocked");
        if (mode == 2) return false;
        require(balanceOf[msg.sender] >= units, "too little");
        uint256 kept = mode == 3 ? units / 100 : 0;
        balanceOf[msg.sender] -= units;
        balanceOf[to] += units - kept;
        balanceOf[address(this)] += kept;
        emit Transfer(msg.sender, to, units - kept);
        if (kept > 0) emit Transfer(msg.sender, address(this), kept);
        return true;
    }
}
